//! Files of databases that no process has open: copies of templates, and removal.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::{error::OpenError, private};

pub(crate) fn database(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).with_extension("db")
}

/// Copies a closed database into the last of these folders, each of which is in the one before. After a power cut there is the
/// whole copy or none. The copy of one process at most is made.
pub(crate) fn copy(from: &Path, folders: &[PathBuf], name: &str) -> Result<(), OpenError> {
    let folder = folders.last().map(PathBuf::as_path).unwrap_or(Path::new(""));
    let to = database(folder, name);
    let failed = |why: &str| OpenError::new(&format!("cannot make {}: {why}", to.display()));
    let io = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => failed("it exists already"),
        _ => failed(&error.to_string()),
    };
    let mut template = File::open(from).map_err(|error| match error.kind() {
        ErrorKind::NotFound => failed("the template does not exist"),
        _ => failed(&format!("cannot read the template: {error}")),
    })?;
    let mut wal = from.as_os_str().to_owned();
    wal.push("-wal");
    if Path::new(&wal).exists() {
        return Err(failed("the template is open, or was not closed"));
    }
    for folder in folders {
        private::create_folder(folder)?;
    }
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(".{name}-{}-{number}", process::id()));
    let mut copied =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary).map_err(io)?;
    // A link does not replace a file, as renaming would.
    let linked = io::copy(&mut template, &mut copied)
        .and_then(|_| copied.sync_all())
        .and_then(|()| fs::hard_link(&temporary, &to));
    let removed = fs::remove_file(&temporary);
    linked.and(removed).and_then(|()| sync(folder)).map_err(io)
}

/// Removes a folder with all its files, if it exists.
pub(crate) fn remove(folder: &Path) -> Result<(), OpenError> {
    let removed = fs::remove_dir_all(folder).and_then(|()| folder.parent().map_or(Ok(()), sync));
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(OpenError::new(&format!("cannot remove {}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// The names of the folders in a folder.
pub(crate) fn folders(folder: &Path) -> Result<Vec<String>, OpenError> {
    let failed = |error: io::Error| OpenError::new(&format!("cannot read {}: {error}", folder.display()));
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            found.extend(OsStr::to_str(&entry.file_name()).map(str::to_owned));
        }
    }
    Ok(found)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
