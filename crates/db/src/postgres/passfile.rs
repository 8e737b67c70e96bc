//! PostgreSQL's password file, as its own tools read it: lines of `host:port:database:user:password`.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use crate::private::quoted;

/// The login to find. A line has the same values, or `*`.
pub(super) struct Login<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

#[derive(Clone)]
pub(super) struct Passfile(Vec<u8>);

impl Passfile {
    /// `None` if there is no such file. A file that other users can read is an error; PostgreSQL's tools ignore it, and then
    /// do not explain why the password is missing.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, String> {
        let failed =
            |error: std::io::Error| format!("cannot read the password file {}: {error}", path.display());
        let mut file = match File::open(path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            opened => opened.map_err(failed)?,
        };
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() {
            return Err(format!("the password file {} is not a file", path.display()));
        }
        if found.permissions().mode() & 0o077 != 0 {
            let shown = path.display();
            return Err(format!(
                "the password file {shown} is open to other users: run chmod 600 {}",
                quoted(path)
            ));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        Ok(Some(Passfile(text)))
    }

    /// The password of the first line that matches.
    pub(super) fn password(&self, login: &Login<'_>) -> Option<Vec<u8>> {
        let port = login.port.to_string();
        let login = [login.host, &port, login.database, login.user];
        let lines = self.0.split(|byte| *byte == b'\n');
        lines.filter(|line| !line.starts_with(b"#")).find_map(|line| {
            let mut rest = line.strip_suffix(b"\r").unwrap_or(line);
            for expected in login {
                let (field, more) = field(rest)?;
                let matches = &rest[..rest.len() - more.len() - 1] == b"*" || field == expected.as_bytes();
                rest = Some(more).filter(|_| matches)?;
            }
            Some(unescaped(rest)).filter(|password| !password.is_empty())
        })
    }
}

/// The text up to the next colon, and the rest after it.
fn field(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut escaped = false;
    let end = line.iter().position(|byte| {
        let ends = *byte == b':' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })?;
    Some((unescaped(&line[..end]), &line[end + 1..]))
}

/// Removes the backslash of `\:` and `\\`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = text.iter().copied();
    let next = || match bytes.next()? {
        b'\\' => Some(bytes.next().unwrap_or(b'\\')),
        byte => Some(byte),
    };
    std::iter::from_fn(next).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    fn password(text: &str, host: &str, port: u16, database: &str, user: &str) -> Option<String> {
        let found = Passfile(text.into()).password(&Login { host, port, database, user });
        found.map(|password| String::from_utf8(password).unwrap())
    }

    #[test]
    fn password_of_the_first_matching_line_is_used() {
        let text = "# host:5432:base:ada:comment\n\
            host:5432:base:ada:first\r\n\
            host:5432:base:ada:second\n\
            host:*:*:ada:any database\n\
            fe80\\:\\:1:5432:a\\\\b:\\*:col\\:on\\\\:rest\n\
            host:5432:base\n\
            *:*:*:empty:\n\
            *:*:*:*:last";
        assert_eq!(password(text, "host", 5432, "base", "ada").as_deref(), Some("first"));
        assert_eq!(password(text, "host", 5433, "base", "ada").as_deref(), Some("any database"));
        assert_eq!(password(text, "host", 5432, "other", "ada").as_deref(), Some("any database"));
        assert_eq!(password(text, "fe80::1", 5432, r"a\b", "*").as_deref(), Some(r"col:on\:rest"));
        assert_eq!(password(text, "fe80::1", 5432, r"a\b", "ada").as_deref(), Some("last"));
        assert_eq!(password(text, "host", 5432, "base", "empty").as_deref(), Some("last"));
        assert_eq!(password("host:5432:base:ada:one", "HOST", 5432, "base", "ada"), None);
        assert_eq!(password("host:5432:base:ada", "host", 5432, "base", "ada"), None);
        assert_eq!(password("", "host", 5432, "base", "ada"), None);
    }

    #[test]
    fn file_that_others_can_read_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("passwords");
        assert!(Passfile::read(&file).unwrap().is_none());
        fs::write(&file, "*:*:*:*:s3cret").unwrap();
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let shown = file.display();
            assert_eq!(
                Passfile::read(&file).err(),
                Some(format!("the password file {shown} is open to other users: run chmod 600 {shown}"))
            );
        }
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(Passfile::read(&file).unwrap().map(|found| found.0), Some(b"*:*:*:*:s3cret".to_vec()));
        let folder_error = Passfile::read(folder.path()).err();
        assert_eq!(
            folder_error,
            Some(format!("the password file {} is not a file", folder.path().display()))
        );
    }
}
