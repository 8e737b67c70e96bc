//! `triptych move`.

use std::{path::PathBuf, sync::mpsc::sync_channel, thread};

use db::{
    Databases, Location,
    transfer::{Digests, Part, TransferError},
};

use super::{Done, Member, Mismatch, MoveArguments, connect, is_row, members, progress::Progress, report};
use crate::{Failure, settings::Settings};

/// How many parts wait between the reader and the writer.
const WAITING: usize = 256;

/// A database that is there already, as after a move that was interrupted, must have the same rows. Nothing is deleted at the source.
pub(crate) fn move_data(arguments: &MoveArguments, settings: &Settings) -> Result<(), Failure> {
    let place = |named: &Option<String>| named.as_deref().map_or_else(|| settings.location(), location);
    let (source, target) = (place(&arguments.from), place(&arguments.to));
    if source == target {
        return Err("--from and --to are the same place".into());
    }
    if let Location::Sqlite(folder) = &source
        && !folder.is_dir()
    {
        return Err(format!("there is no folder {}: check --from", folder.display()).into());
    }
    let (from, to) = (connect(&source, settings)?, connect(&target, settings)?);
    let members = members(settings, &from)?;
    if members.is_empty() {
        return Err("there is no data at --from".into());
    }
    let progress = Progress::start();
    let mut done = Vec::new();
    for member in members {
        progress.says(format!("Moving {member}"));
        let is_there = member.databases(&to)?.has(&member.database)?;
        let (digests, outcome) = if is_there {
            (compared(&member, &from, &to)?, "there already")
        } else {
            (copied(&member, &from, &to, settings, &progress)?, "moved")
        };
        done.push(Done { member, digests, outcome });
    }
    progress.says("Comparing".into());
    for Done { member, digests, .. } in &done {
        if member.digests(&from)? != *digests {
            return Err(Mismatch(format!(
                "{member} was changed at --from while it was moved: stop the server, delete the data at --to, and move it again"
            ))
            .into());
        }
    }
    drop(progress);
    report(&done, arguments.json)
}

fn location(named: &str) -> Location {
    match named.starts_with("postgres://") || named.starts_with("postgresql://") {
        true => Location::Postgres(named.to_owned()),
        false => Location::Sqlite(PathBuf::from(named)),
    }
}

fn compared(member: &Member, from: &Databases, to: &Databases) -> Result<Digests, Failure> {
    let digests = member.digests(from)?;
    if member.digests(to)? == digests {
        return Ok(digests);
    }
    Err(Mismatch(format!(
        "{member} exists already at --to, with other data: move into an empty folder or database"
    ))
    .into())
}

/// Copies the rows of a database. The writer reads them back before it commits.
fn copied(
    member: &Member,
    from: &Databases,
    to: &Databases,
    settings: &Settings,
    progress: &Progress,
) -> Result<Digests, Failure> {
    let (from, to) = (member.databases(from)?, member.databases(to)?);
    let migrations = member.migrations(settings)?;
    let (sender, parts) = sync_channel(WAITING);
    thread::scope(|scope| {
        let read = scope.spawn(move || {
            let mut send = |part: Part| {
                let gone = |_| TransferError::new("the writer has ended");
                sender.send(Ok(part)).map_err(gone)
            };
            let read = from.export(&member.database, &mut send);
            if let Err(error) = &read {
                // The writer must not take the end for that of the data. A writer that has ended has its own error.
                let _ = sender.send(Err(TransferError::new(error.to_string())));
            }
            read
        });
        let mut source = parts.into_iter().inspect(|part| {
            if part.as_ref().is_ok_and(is_row) {
                progress.row();
            }
        });
        let written = to.import(&member.database, migrations, &mut source);
        drop(source);
        let read = read.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let written = written.map_err(|error| member.failed("cannot write", &error))?;
        let read = read.map_err(|error| member.failed("cannot read", &error))?;
        if read != written {
            return Err(Mismatch(format!("{member} is not the same at both places")).into());
        }
        Ok(written)
    })
}
