//! Files that only their owner can read: they contain password hashes, sessions and personal data.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::error::OpenError;

/// Creates the data folder, and syncs it to the disk. A folder that is open to other users is rejected: they could read or
/// replace the files in it.
pub fn create_folder(folder: &Path) -> Result<(), OpenError> {
    let failed = |error: io::Error| {
        let why = match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => "it is not a folder".to_owned(),
            _ => error.to_string(),
        };
        OpenError::new(&format!("cannot use the data folder {}: {why}", folder.display()))
    };
    if folder.is_dir() {
        let mode = fs::metadata(folder).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            let shown = folder.display();
            return Err(OpenError::new(&format!(
                "the data folder {shown} is open to other users: run chmod 700 {}",
                quoted(folder)
            )));
        }
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.map_or_else(|| PathBuf::from("."), Path::to_owned);
    fs::File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)
}

/// A path as a shell expects it.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-".contains(letter);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Creates a database file that only its owner can read, regardless of the umask. SQLite gives the same
/// permissions to the WAL and its index; this function also corrects files of an earlier version.
pub(crate) fn secure_files(database: &Path) -> io::Result<()> {
    let own = Permissions::from_mode(0o600);
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(database) {
        Ok(file) => return file.set_permissions(own),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    for suffix in ["", "-wal", "-shm"] {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        match fs::metadata(&name) {
            Ok(found) if found.is_file() && found.permissions().mode() & 0o077 != 0 => {
                fs::set_permissions(&name, own.clone())?;
            }
            // SQLite reports a file that cannot be opened, and creates a missing one.
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn path_is_quoted_if_a_shell_needs_it() {
        for (path, quoted) in [
            ("/var/lib/triptych", "/var/lib/triptych"),
            ("my data", "'my data'"),
            ("it's", r"'it'\''s'"),
            ("a;b", "'a;b'"),
        ] {
            assert_eq!(super::quoted(Path::new(path)), quoted);
        }
    }
}
