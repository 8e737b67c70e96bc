//! A file that a command writes: only its owner can read it, and it appears when it is complete.

use std::{
    fmt::Display,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::Failure;

/// Removed if it is not finished.
#[derive(Debug)]
pub(crate) struct NewFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl NewFile {
    /// Starts a file, which must not exist.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        if path.exists() {
            return Err(cannot_write(path, &"it exists already"));
        }
        if !folder(path).is_dir() {
            return Err(cannot_write(path, &"its folder does not exist"));
        }
        let file = NamedTempFile::new_in(folder(path)).map_err(|error| cannot_write(path, &error))?;
        Ok(NewFile { path: path.to_owned(), file })
    }

    /// Gives the file its name, after its content is on the disk.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let NewFile { path, file } = self;
        file.as_file().sync_all().map_err(|error| cannot_write(&path, &error))?;
        file.persist_noclobber(&path).map_err(|error| cannot_write(&path, &error.error))?;
        Ok(File::open(folder(&path))?.sync_all()?)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn cannot_write(path: &Path, why: &dyn Display) -> Failure {
    format!("cannot write {}: {why}", path.display()).into()
}
