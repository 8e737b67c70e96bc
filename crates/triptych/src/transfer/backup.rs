//! `triptych backup`.

use std::io::BufWriter;

use db::transfer::{Part, TransferError};
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
use crate::{Failure, new_file::NewFile, settings::Settings};

pub(crate) fn backup(arguments: &BackupArguments, settings: &Settings) -> Result<(), Failure> {
    let BackupArguments { file, json } = arguments;
    let new = NewFile::create(file)?;
    let databases = connect(&settings.location(), settings)?;
    let members = members(settings, &databases)?;
    if members.is_empty() {
        return Err("there is no data here: check --data or --database".into());
    }
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
    writer.finish()?.into_inner()?.finish()?;
    drop(progress);
    report(&done, *json)
}
