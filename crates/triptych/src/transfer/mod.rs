//! The data of a whole installation: `backup` writes it to a file, `restore` reads it back, and `move` takes it from one engine or
//! server to another.
//!
//! An installation has a database for each service, one for the registry of sandboxes, and for each sandbox one of each service. Each
//! database is read in one state; there is no rule that spans two of them.

mod archive;
mod backup;
mod line;
mod moving;
mod progress;
mod restore;

use std::path::PathBuf;

use clap::Args;
use db::{
    Databases, Limits, Location, Migrations,
    transfer::{Digests, Part, TransferError},
};
use serde_json::{Value, json};

use crate::{
    Failure, print,
    settings::Settings,
    table::{row, table},
};

pub(crate) use backup::backup;
pub(crate) use moving::move_data;
pub(crate) use restore::restore;

#[derive(Args)]
pub(crate) struct BackupArguments {
    /// The file to write, which must not exist
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct RestoreArguments {
    /// The file that `triptych backup` has written
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct MoveArguments {
    /// Where the data is: a folder, or the URL of a PostgreSQL database [default: as the settings say]
    #[arg(long, value_name = "DIR|URL", required_unless_present = "to")]
    from: Option<String>,
    /// Where it goes: a folder, or the URL of a PostgreSQL database [default: as the settings say]
    #[arg(long, value_name = "DIR|URL")]
    to: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Data is not what it should be. The program exits with code 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Mismatch(String);

/// A database of an installation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    /// The sandbox that it belongs to.
    sandbox: Option<String>,
    database: String,
}

impl Member {
    /// The database in its place.
    fn databases(&self, of: &Databases) -> Result<Databases, Failure> {
        Ok(match &self.sandbox {
            Some(sandbox) => of.group(sandbox)?,
            None => of.clone(),
        })
    }

    fn migrations(&self, settings: &Settings) -> Result<&'static [Migrations], Failure> {
        let known = all(settings).into_iter().find(|(name, _)| *name == self.database);
        let unknown =
            || format!("this program has no database {}: use the triptych that wrote it", self.database);
        Ok(known.ok_or_else(unknown)?.1)
    }

    /// The digest of each table.
    fn digests(&self, of: &Databases) -> Result<Digests, Failure> {
        let digests = self.databases(of)?.export(&self.database, &mut |_| Ok(()));
        digests.map_err(|error| self.failed("cannot read", &error))
    }

    fn failed(&self, what: &str, error: &TransferError) -> Failure {
        format!("{what} {self}: {error}").into()
    }
}

impl std::fmt::Display for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.sandbox {
            Some(sandbox) => write!(f, "the database {} of the sandbox {sandbox}", self.database),
            None => write!(f, "the database {}", self.database),
        }
    }
}

/// The names and migrations of all databases that an installation can have.
fn all(settings: &Settings) -> Vec<(&'static str, &'static [Migrations])> {
    let of_services = settings.services().map(|service| {
        let description = service.description();
        (description.name, description.migrations)
    });
    of_services.into_iter().chain([(sandbox::DATABASE, sandbox::MIGRATIONS)]).collect()
}

/// The databases that an installation has.
fn members(settings: &Settings, databases: &Databases) -> Result<Vec<Member>, Failure> {
    let sandboxes = databases.groups()?.into_iter().filter(|group| sandbox::Name::new(group).is_some());
    let mut found = Vec::new();
    for sandbox in [None].into_iter().chain(sandboxes.map(Some)) {
        for (name, _) in all(settings) {
            let member = Member { sandbox: sandbox.clone(), database: name.to_owned() };
            if member.databases(databases)?.has(name)? {
                found.push(member);
            }
        }
    }
    Ok(found)
}

/// Connects to a place with few connections, and without waiting for a server that is down.
fn connect(location: &Location, settings: &Settings) -> Result<Databases, Failure> {
    let limits = Limits { connections: 1, start: std::time::Duration::ZERO, ..settings.limits.database() };
    Ok(Databases::connect(location, limits)?)
}

/// What was done with a database.
struct Done {
    member: Member,
    digests: Digests,
    outcome: &'static str,
}

fn report(done: &[Done], as_json: bool) -> Result<(), Failure> {
    if as_json {
        return print(&format!(
            "{}\n",
            json!({"databases": done.iter().map(Done::json).collect::<Vec<_>>()})
        ));
    }
    let rows: Vec<_> = done.iter().map(Done::row).collect();
    print(&table(&rows))
}

impl Done {
    fn rows(&self) -> u64 {
        self.digests.values().map(|digest| digest.rows).sum()
    }

    fn json(&self) -> Value {
        let tables = self.digests.iter().map(
            |(table, digest)| json!({"table": table, "rows": digest.rows, "checksum": digest.to_string()}),
        );
        json!({
            "database": self.member.database,
            "sandbox": self.member.sandbox,
            "outcome": self.outcome,
            "tables": tables.collect::<Vec<_>>(),
        })
    }

    fn row(&self) -> [String; 4] {
        let sandbox = self.member.sandbox.as_deref().map(|sandbox| format!("sandbox {sandbox}"));
        let rows = format!("{} rows in {} tables", self.rows(), self.digests.len());
        row([&self.member.database, self.outcome, &rows, sandbox.as_deref().unwrap_or_default()])
    }
}

/// Whether a part is a row, for counting.
fn is_row(part: &Part) -> bool {
    matches!(part, Part::Row(_))
}
