//! `triptych backup`.

use std::{io::BufWriter, path::Path};

use db::transfer::{Part, TransferError};

use tempfile::NamedTempFile;
use web::Clock;

use super::{
    BackupArguments, Done,
    archive::Writer,
    connect, is_row,
    line::{FORMAT, Line},
    members,
    progress::Progress,
    report,
};
use crate::{Failure, settings::Settings};

pub(crate) fn backup(arguments: &BackupArguments, settings: &Settings) -> Result<(), Failure> {
    let BackupArguments { file, json } = arguments;
    let cannot_write = |why: &dyn std::fmt::Display| format!("cannot write {}: {why}", file.display());
    if file.exists() {
        return Err(cannot_write(&"it exists already").into());
    }
    let databases = connect(&settings.location(), settings)?;
    let members = members(settings, &databases)?;
    if members.is_empty() {
        return Err("there is no data here: check --data or --database".into());
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Only its owner can read it. It is removed if the command fails.
    let new = NamedTempFile::new_in(folder).map_err(|error| cannot_write(&error))?;
    let mut writer = Writer::new(BufWriter::new(new));
    writer.line(&Line::Backup {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: Clock::system().now(),
    })?;
    let progress = Progress::start();
    let mut done = Vec::new();
    for member in members {
        progress.says(format!("Writing {member}"));
        let mut write = |part: Part| {
            if is_row(&part) {
                progress.row();
            }
            writer.part(&member, part).map_err(|error| TransferError::new(error.to_string()))
        };
        let digests = member.databases(&databases)?.export(&member.database, &mut write);
        let digests = digests.map_err(|error| member.failed("cannot back up", &error))?;
        writer.end_table()?;
        done.push(Done { member, digests, outcome: "written" });
    }
    let new = writer.finish()?.into_inner().map_err(|error| cannot_write(&error))?;
    new.as_file().sync_all().map_err(|error| cannot_write(&error))?;
    new.persist_noclobber(file).map_err(|error| cannot_write(&error.error))?;
    std::fs::File::open(folder)?.sync_all()?;
    drop(progress);
    report(&done, *json)
}
