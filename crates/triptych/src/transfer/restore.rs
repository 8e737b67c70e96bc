//! `triptych restore`.

use std::{collections::BTreeMap, path::Path};

use db::transfer::{Digests, Part, Source, TransferError};

use super::{
    Done, Member, Mismatch, RestoreArguments,
    archive::{Found, Reader},
    connect, is_row,
    progress::Progress,
    report,
};
use crate::{Failure, settings::Settings};

/// Reads the whole backup before it writes anything. A database that is there already, as after a restore that was interrupted, must
/// have the same rows.
pub(crate) fn restore(arguments: &RestoreArguments, settings: &Settings) -> Result<(), Failure> {
    let RestoreArguments { file, json } = arguments;
    let progress = Progress::start();
    progress.says("Checking the backup".into());
    let members = check(file, &progress)?;
    let databases = connect(&settings.location(), settings)?;
    let mut present = Vec::new();
    for (member, digests) in &members {
        member.migrations(settings)?;
        if member.databases(&databases)?.has(&member.database)? {
            if member.digests(&databases)? != *digests {
                return Err(Mismatch(format!(
                    "{member} exists already, with other data: restore into an empty folder or database"
                ))
                .into());
            }
            present.push(member.clone());
        }
    }
    let mut reader = Reader::open(file)?;
    let mut done = Vec::new();
    let mut next = next_member(&mut reader)?;
    while let Some((member, versions)) = next {
        progress.says(format!("Restoring {member}"));
        let mut parts = Parts { reader: &mut reader, first: Some(versions), next: None, progress: &progress };
        let outcome = if present.contains(&member) {
            parts
                .by_ref()
                .try_for_each(|part| part.map(drop))
                .map_err(|error| member.failed("cannot read", &error))?;
            "there already"
        } else {
            let migrations = member.migrations(settings)?;
            let databases = member.databases(&databases)?;
            let source: &mut Source<'_> = &mut parts;
            let imported = databases.import(&member.database, migrations, source);
            imported.map_err(|error| member.failed("cannot restore", &error))?;
            "restored"
        };
        next = parts.next;
        let digests = members.get(&member).cloned().unwrap_or_default();
        done.push(Done { member, digests, outcome });
    }
    drop(progress);
    report(&done, *json)
}

/// The databases of a backup with their digests.
fn check(file: &Path, progress: &Progress) -> Result<BTreeMap<Member, Digests>, Failure> {
    let mut reader = Reader::open(file)?;
    let mut members = BTreeMap::<Member, Digests>::new();
    let mut last = None;
    while let Some(found) = reader.next()? {
        match found {
            Found::Database(member, _) => last = Some(members.entry(member).or_default()),
            Found::EndOfTable(table, digest) => {
                if let Some(digests) = &mut last {
                    digests.insert(table, digest);
                }
            }
            Found::Part(part) if is_row(&part) => progress.row(),
            Found::Part(_) | Found::Frame => {}
        }
    }
    Ok(members)
}

/// The first database of a backup, and its versions.
fn next_member(reader: &mut Reader) -> Result<Option<(Member, Part)>, Failure> {
    while let Some(found) = reader.next()? {
        if let Found::Database(member, versions) = found {
            return Ok(Some((member, versions)));
        }
    }
    Ok(None)
}

/// The parts of one database of a backup.
struct Parts<'r> {
    reader: &'r mut Reader,
    first: Option<Part>,
    /// The database that comes after it.
    next: Option<(Member, Part)>,
    progress: &'r Progress,
}

impl Iterator for Parts<'_> {
    type Item = Result<Part, TransferError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        while self.next.is_none() {
            match self.reader.next() {
                Err(error) => return Some(Err(TransferError::new(error.to_string()))),
                Ok(None) => return None,
                Ok(Some(Found::Database(member, versions))) => self.next = Some((member, versions)),
                Ok(Some(Found::Part(part))) => {
                    if is_row(&part) {
                        self.progress.row();
                    }
                    return Some(Ok(part));
                }
                Ok(Some(Found::EndOfTable(..) | Found::Frame)) => {}
            }
        }
        None
    }
}
