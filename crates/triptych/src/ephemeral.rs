//! `triptych serve --ephemeral`: a demo in a temporary folder and on free ports, for a test run.

use std::{collections::BTreeMap, fs::Permissions, os::unix::fs::PermissionsExt, path::Path};

use crate::{
    Failure, runtime,
    serve::{self, Signals},
    serve_arguments::ServeArguments,
    settings::{Flags, ServiceSection, Settings},
};

/// A free port on this machine.
const FREE_PORT: &str = "127.0.0.1:0";

/// Serves until a signal, and removes the folder.
pub(crate) fn run(flags: Flags, arguments: &ServeArguments) -> Result<(), Failure> {
    for (flag, is_given) in [
        ("--data", flags.data.is_some()),
        ("--database", flags.database.is_some()),
        ("--database-file", flags.database_file.is_some()),
        ("--database-replica", flags.database_replica.is_some()),
    ] {
        if is_given {
            return Err(format!("--ephemeral and {flag} exclude each other; give one of them").into());
        }
    }
    let runtime = runtime::new()?;
    // Before the folder is made: a signal during the start must not leave it behind.
    let signals = runtime.block_on(async { Signals::new() })?;
    let folder = tempfile::Builder::new()
        .prefix("triptych-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    let settings = Settings::read(&ephemeral(flags, folder.path()))?;
    let served = serve::run_on(runtime, &settings, arguments, Some(signals));
    let path = folder.path().to_owned();
    let removed = folder.close().map_err(|error| format!("cannot remove {}: {error}", path.display()).into());
    served.and(removed)
}

/// The flags, with a folder and free ports where they name none. They override the settings file and the variables, which may be
/// those of another installation on this machine.
fn ephemeral(flags: Flags, folder: &Path) -> Flags {
    let mut services: BTreeMap<_, _> = flags.services;
    for service in Settings::defaults().services() {
        let section = services.entry(service.description().name).or_insert(ServiceSection {
            listen: None,
            address: None,
            oauth: None,
        });
        section.listen.get_or_insert_with(|| FREE_PORT.into());
        section.address = Some(String::new());
    }
    Flags {
        data: Some(folder.to_owned()),
        database: Some(String::new()),
        database_file: Some(String::new().into()),
        database_replica: Some(String::new()),
        admin_listen: Some(flags.admin_listen.unwrap_or_else(|| FREE_PORT.into())),
        demo: Some(flags.demo.unwrap_or(true)),
        tls_certificate: Some(String::new().into()),
        tls_key: Some(String::new().into()),
        services,
        ..flags
    }
}
