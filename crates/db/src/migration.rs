//! Migrations of a schema.
//!
//! Each component of a service (its own tables, identity's) has a numbered list of steps, written once per engine because
//! types differ. All steps that a database lacks are applied in one transaction under a lock, so several processes may start
//! at the same time, and a step that fails changes nothing. On PostgreSQL the lock is that of a row, and statements are sent one at a
//! time: distributed PostgreSQL has no advisory locks, and takes no text of several statements.

use std::fmt;

/// The migrations of one component, in order; the first is version 1. `migrations!` of the crate `model` reads them from the
/// folder of a crate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Migrations {
    component: &'static str,
    scripts: &'static [Script],
}

/// The name of a step, and its text for SQLite and for PostgreSQL.
type Script = (&'static str, &'static str, &'static str);

impl Migrations {
    /// Each step is its name, its text for SQLite and its text for PostgreSQL.
    pub const fn new(component: &'static str, scripts: &'static [Script]) -> Self {
        Migrations { component, scripts }
    }

    pub const fn component(&self) -> &'static str {
        self.component
    }

    /// How many steps there are.
    pub const fn len(&self) -> usize {
        self.scripts.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.scripts.is_empty()
    }

    /// The first `version` steps, for tests that upgrade an older database.
    #[must_use]
    pub const fn up_to(self, version: usize) -> Self {
        Migrations { component: self.component, scripts: self.scripts.split_at(version).0 }
    }
}

/// The table with the migrations that were applied.
pub(crate) const TABLE: &str = "triptych_migration";

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
pub(crate) const APPLIED: &str =
    "SELECT component, max(version) FROM triptych_migration WHERE version > 0 GROUP BY component";

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

/// The steps that a database with the `applied` versions lacks; an error when it is newer than this program.
pub(crate) fn missing(migrations: &[Migrations], applied: &[(String, i64)]) -> Result<Vec<Step>, String> {
    for (component, version) in applied {
        let known = migrations.iter().find(|known| known.component == component);
        let newest = known.map_or(0, |known| known.scripts.len() as i64);
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
        part.scripts.iter().zip(1..).map(|(&(name, sqlite, postgres), version)| Step {
            component: part.component,
            version,
            name,
            sqlite,
            postgres,
        })
    });
    Ok(all.filter(|step| step.version > at(step.component)).collect())
}
