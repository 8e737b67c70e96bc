//! The installation's secret: the setting `secret`, or a file in the data folder.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

use db::private;

use web::{InstallationSecret, Random};

use crate::{Failure, settings::Settings};

/// The name of the file.
const FILE: &str = "secret";

/// The number of its bytes.
const LENGTH: usize = 32;

/// The secret; its file is made when it is needed for the first time.
pub(crate) fn read(settings: &Settings, random: &Random) -> Result<InstallationSecret, Failure> {
    if settings.secret.is_empty() {
        let path = settings.data.join(FILE);
        private::create_folder(&settings.data)?;
        if !path.exists() {
            make(&path, random).map_err(|error| cannot_use(&path, &error))?;
        }
    }
    match existing(settings)? {
        Some(secret) => Ok(secret),
        None => Err(cannot_use(&settings.data.join(FILE), &io::ErrorKind::NotFound.into()).into()),
    }
}

fn cannot_use(path: &Path, error: &io::Error) -> String {
    format!("cannot use the secret in {}: {error}", path.display())
}

/// The secret, if there is one. Nothing is made.
pub(crate) fn existing(settings: &Settings) -> Result<Option<InstallationSecret>, Failure> {
    if !settings.secret.is_empty() {
        return Ok(Some(InstallationSecret::new(settings.secret.as_bytes())));
    }
    let path = settings.data.join(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let failed = |error: io::Error| cannot_use(&path, &error);
    let file = File::open(&path).map_err(failed)?;
    if file.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
        let (shown, path) = (path.display(), private::quoted(&path));
        return Err(format!("other users can read the secret in {shown}: run chmod 600 {path}").into());
    }
    let bytes = fs::read(&path).map_err(failed)?;
    if bytes.len() != LENGTH {
        return Err(format!(
            "the secret in {} must have {LENGTH} bytes, not {}",
            path.display(),
            bytes.len()
        )
        .into());
    }
    Ok(Some(InstallationSecret::new(&bytes)))
}

/// Creates the complete file for its owner only, unless another process has created it.
fn make(path: &Path, random: &Random) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let bytes = random.bytes::<LENGTH>();
    // Random rather than the process's id, which in a container is the same at every start: a start that was killed here
    // leaves its file.
    let new = path.with_extension(format!("{}.new", random.code(12)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let made = file.write_all(&bytes).and_then(|()| file.sync_all()).and_then(|()| fs::hard_link(&new, path));
    fs::remove_file(&new)?;
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|()| File::open(folder)?.sync_all()),
    }
}
