//! Where the data is: in a folder, or in a PostgreSQL database whose URL is a setting or is in a file.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::{Settings, SettingsError};

/// The URL of the database; empty if the data is in a folder.
pub(super) fn url(settings: &Settings) -> Result<String, SettingsError> {
    let url = match settings.database_file.as_os_str().is_empty() {
        true => settings.database.clone(),
        false if settings.database.is_empty() => read(&settings.database_file)?,
        false => {
            return Err(SettingsError(
                "database and database_file exclude each other; give one of them".into(),
            ));
        }
    };
    if !url.is_empty() && !is_url(&url) {
        return Err(SettingsError(
            "the database must be a URL like postgres://user:password@host/database".into(),
        ));
    }
    Ok(url)
}

/// Refuses a replica of a folder, and one that is no URL.
pub(super) fn check_replica(settings: &Settings) -> Result<(), SettingsError> {
    let Some(url) = settings.replica() else { return Ok(()) };
    if settings.has_own_database() {
        return Err(SettingsError(
            "database_replica is the replica of a PostgreSQL database: set database too, or leave it empty"
                .into(),
        ));
    }
    if !is_url(url) {
        return Err(SettingsError(
            "database_replica must be a URL like postgres://user:password@host/database".into(),
        ));
    }
    Ok(())
}

/// Refuses workers of a folder.
pub(super) fn check_workers(settings: &Settings) -> Result<(), SettingsError> {
    if settings.database_workers && settings.has_own_database() {
        return Err(SettingsError(
            "database_workers is for a PostgreSQL database with Citus: set database too, or database_workers = false"
                .into(),
        ));
    }
    Ok(())
}

fn is_url(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// A file that holds a URL, and with it a password: other users must not be able to read it, nor to change where the data goes.
/// A group may read it: files of a system service may belong to root, and to the group of the service.
fn read(file: &Path) -> Result<String, SettingsError> {
    let shown = file.display();
    let failed =
        |error: std::io::Error| SettingsError(format!("cannot read the database file {shown}: {error}"));
    if fs::metadata(file).map_err(failed)?.permissions().mode() & 0o027 != 0 {
        return Err(SettingsError(format!(
            "other users can read or change the database file {shown}: run chmod 600 {}",
            db::private::quoted(file)
        )));
    }
    let url = fs::read_to_string(file).map_err(failed)?.trim().to_owned();
    if url.is_empty() {
        return Err(SettingsError(format!("the database file {shown} is empty")));
    }
    Ok(url)
}

/// A database URL that can be shown.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    // The user first: a password may have a question mark in it. The parameters may have one too, and are not shown.
    let (user, rest) = rest.rsplit_once('@').map_or((None, rest), |(user, rest)| (Some(user), rest));
    let host = rest.split('?').next().unwrap_or_default();
    match user.and_then(|user| user.split(':').next()) {
        Some(name) => format!("{scheme}://{name}@{host}"),
        None => format!("{scheme}://{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn password_is_not_shown() {
        for (url, shown) in [
            ("", ""),
            ("postgres://host/base", "postgres://host/base"),
            ("postgres://me@host/base", "postgres://me@host/base"),
            ("postgres://me:secret@host:5433/base", "postgres://me@host:5433/base"),
            ("postgres://me:se@cret@host/base", "postgres://me@host/base"),
            ("postgres://me:se?cret@host/base?sslmode=require", "postgres://me@host/base"),
            ("postgres://host/base?user=me&password=secret", "postgres://host/base"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
