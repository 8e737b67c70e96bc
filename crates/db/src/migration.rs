//! How a schema comes to be what the code expects.
//!
//! Each part of a service (its own tables, identity's) brings a numbered list of steps, written once per
//! engine because types differ. All steps that a database lacks are applied in one transaction under a lock,
//! so several processes may start at once and a step that fails leaves nothing behind.

use std::fmt;

/// The steps of one component, in order; the first is version 1. Made by [`migrations!`](crate::migrations).
#[derive(Clone, Copy)]
pub struct Migrations {
    pub component: &'static str,
    pub steps: &'static [Script],
}

/// One step in both engines' words.
#[derive(Clone, Copy)]
pub struct Script {
    pub name: &'static str,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

/// The migrations of a component, read from `migrations/{sqlite,postgres}/NAME.sql` of the calling crate:
/// `db::migrations!("museum": "0001_events", "0002_tickets")`.
#[macro_export]
macro_rules! migrations {
    ($component:literal : $($name:literal),+ $(,)?) => {
        $crate::Migrations {
            component: $component,
            steps: &[$($crate::Script {
                name: $name,
                sqlite: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite/", $name, ".sql")),
                postgres: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/postgres/", $name, ".sql")),
            }),+],
        }
    };
}

pub(crate) const SQLITE_TABLE: &str = "CREATE TABLE IF NOT EXISTS triptych_migration (
    component TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (component, version)
) STRICT";

pub(crate) const POSTGRES_TABLE: &str = "CREATE TABLE IF NOT EXISTS triptych_migration (
    component TEXT NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (component, version)
)";

/// The newest version of each component that the database has.
pub(crate) const APPLIED: &str = "SELECT component, max(version) FROM triptych_migration GROUP BY component";

pub(crate) struct Step {
    pub(crate) component: &'static str,
    pub(crate) version: i64,
    name: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.component, self.name)
    }
}

/// What is still to be applied to a database that is at `applied`; refuses one that is ahead of this program.
pub(crate) fn outstanding(migrations: &[Migrations], applied: &[(String, i64)]) -> Result<Vec<Step>, String> {
    for (component, version) in applied {
        let known = migrations.iter().find(|known| known.component == component);
        let newest = known.map_or(0, |known| known.steps.len() as i64);
        if *version > newest {
            return Err(format!(
                "its schema is newer than this program ({component} is at version {version}, this program \
                 knows up to {newest}): use the newer triptych that wrote it"
            ));
        }
    }
    let at = |component: &str| {
        let found = applied.iter().find(|(name, _)| name == component);
        found.map_or(0, |(_, version)| *version)
    };
    let all = migrations.iter().flat_map(|part| {
        part.steps.iter().zip(1..).map(|(script, version)| Step {
            component: part.component,
            version,
            name: script.name,
            sqlite: script.sqlite,
            postgres: script.postgres,
        })
    });
    Ok(all.filter(|step| step.version > at(step.component)).collect())
}
