//! The databases of a process.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::Semaphore;

use crate::{
    database::{Db, Engine},
    error::OpenError,
    long_reads::{self, LongReads},
    migration::Migrations,
    name::{check_database, check_group, is_name},
    postgres,
    settings::{Limits, Location},
    sqlite::{Sqlite, files, small},
};

/// The folder with the groups, in the data folder.
const GROUPS: &str = "sandboxes";

/// The start of the names of all groups' schemas.
const SCHEMAS: &str = "sandbox_";

/// The databases of a process: a file per service in a folder, or a schema per service on a PostgreSQL server. All services
/// share the connections to PostgreSQL. Cloning is cheap.
#[derive(Clone)]
pub struct Databases {
    target: Target,
    group: Option<Arc<str>>,
    limits: Limits,
    /// Permits for long reads on SQLite, shared by all services.
    long_permits: Arc<Semaphore>,
    /// What the databases of groups share on SQLite.
    files: Arc<small::Shared>,
}

#[derive(Clone)]
enum Target {
    Folder(PathBuf),
    Server(postgres::Shared),
}

impl Db {
    /// Opens the database of a process that has one service: see [`Databases`].
    pub fn open(
        location: &Location,
        service: &str,
        migrations: &[Migrations],
        limits: Limits,
    ) -> Result<Self, OpenError> {
        Databases::connect(location, limits)?.open(service, migrations)
    }
}

impl Databases {
    /// Connects to the databases. Blocks; call it at start-up.
    pub fn connect(location: &Location, limits: Limits) -> Result<Self, OpenError> {
        let target = match location {
            Location::Sqlite(folder) => Target::Folder(folder.clone()),
            Location::Postgres(url) => Target::Server(postgres::Shared::open(url, limits)?),
        };
        Ok(Databases {
            target,
            group: None,
            limits,
            long_permits: long_reads::permits(),
            files: small::Shared::new(),
        })
    }

    /// The same with a replica of the PostgreSQL server: [`Db::read_stale`] and [`Db::read_long_stale`] run there. While it does not
    /// answer, they run on the primary. Databases of groups do not use it.
    pub async fn with_replica(self, url: &str) -> Result<Self, OpenError> {
        let target = match self.target {
            Target::Server(shared) => Target::Server(shared.with_replica(url, self.limits).await?),
            Target::Folder(_) => return Err(OpenError::new("a folder has no replica")),
        };
        Ok(Databases { target, ..self })
    }

    /// The same, with the statements of each database sent straight to the worker of Citus that has its schema. Opening a database is an
    /// error if the server has no Citus.
    pub fn with_workers(self) -> Result<Self, OpenError> {
        let target = match self.target {
            Target::Server(shared) => Target::Server(shared.with_workers(self.limits)),
            Target::Folder(_) => return Err(OpenError::new("a folder has no workers")),
        };
        Ok(Databases { target, ..self })
    }

    /// Logs a warning if the settings of the PostgreSQL server let a crash lose acknowledged writes. Blocks; call it on a blocking
    /// thread.
    pub fn check_durability(&self) -> Result<(), OpenError> {
        match &self.target {
            Target::Server(shared) => shared.check_durability(),
            Target::Folder(_) => Ok(()),
        }
    }

    /// Whether all databases were closed, and their last units have ended, so that the connections to PostgreSQL have nothing to do. A
    /// folder has no connections of its own.
    pub fn is_idle(&self) -> bool {
        match &self.target {
            Target::Server(shared) => shared.is_idle(),
            Target::Folder(_) => true,
        }
    }

    /// The databases of a group, such as those of a sandbox. They share the connections and the limits of this process, and
    /// nothing else: on SQLite their files are in a folder of their own, on PostgreSQL their schemas have the name of the group.
    ///
    /// The name of a group has 1 to 32 lower-case letters, digits and dashes, and no dash at either end ([`is_name`](crate::is_name)).
    pub fn group(&self, group: &str) -> Result<Self, OpenError> {
        check_group(group)?;
        Ok(Databases { group: Some(group.into()), ..self.clone() })
    }

    /// Opens the database of a service and applies the migrations that it lacks. Blocks; call it at start-up, or on a blocking
    /// thread. The name has 1 to 20 lower-case letters and digits.
    pub fn open(&self, name: &str, migrations: &[Migrations]) -> Result<Db, OpenError> {
        check_database(name)?;
        let limits = if self.group.is_some() { self.limits.of_group() } else { self.limits };
        let engine = match &self.target {
            Target::Folder(root) => {
                let folders = self.folders(root);
                let group = self.group.is_some().then_some(&self.files);
                Engine::Sqlite(Sqlite::open(&folders, name, migrations, limits, group)?)
            }
            Target::Server(shared) => {
                Engine::Postgres(shared.service(self.schema(name), self.group.as_ref(), migrations)?)
            }
        };
        Ok(Db::new(engine, LongReads::new(self.long_permits.clone(), limits)))
    }

    /// Makes a database of this group as a copy of the one of another group, the template. It is an error if it exists already:
    /// of several processes that make it at the same time, one succeeds. Blocks; call it on a blocking thread.
    ///
    /// No process has the template open. On SQLite the copy is a copy of its file, also of the migrations that it has; on
    /// PostgreSQL the template must have all migrations.
    pub fn copy(&self, from: &Databases, name: &str, migrations: &[Migrations]) -> Result<(), OpenError> {
        check_database(name)?;
        if self.group.is_none() {
            return Err(OpenError::new("only a database of a group can be a copy"));
        }
        match (&self.target, &from.target) {
            (Target::Folder(root), Target::Folder(from_root)) => {
                let template = from.folders(from_root).pop().unwrap_or_default();
                files::copy(&files::database(&template, name), &self.folders(root), name)
            }
            (Target::Server(shared), Target::Server(_)) => {
                shared.copy(&from.schema(name), &self.schema(name), migrations)
            }
            _ => Err(OpenError::new("the template is in another database")),
        }
    }

    /// Removes all databases of this group, if there are any, with everything in them. Blocks; call it on a blocking thread.
    ///
    /// Before, every [`Db`] of the group must have been dropped: in this process, and on PostgreSQL in all. On SQLite a database
    /// that is open would write on to a file that has no name.
    pub fn remove_group(&self) -> Result<(), OpenError> {
        let Some(group) = &self.group else {
            return Err(OpenError::new("only a group of databases can be removed"));
        };
        match &self.target {
            Target::Folder(root) => files::remove(&root.join(GROUPS).join(&**group)),
            Target::Server(shared) => shared.remove(&schema_prefix(group)),
        }
    }

    /// The names of all groups that have databases, in alphabetical order. Blocks; call it on a blocking thread.
    pub fn groups(&self) -> Result<Vec<String>, OpenError> {
        let mut groups = match &self.target {
            Target::Folder(root) => files::folders(&root.join(GROUPS))?,
            Target::Server(shared) => {
                let schemas = shared.schemas(SCHEMAS)?;
                let groups =
                    schemas.iter().filter_map(|schema| schema.strip_prefix(SCHEMAS)?.rsplit_once('_'));
                groups.map(|(group, _)| group.replace('_', "-")).collect()
            }
        };
        groups.retain(|group| is_name(group));
        groups.sort_unstable();
        groups.dedup();
        Ok(groups)
    }

    /// The file of a database; `None` on PostgreSQL.
    pub(crate) fn file(&self, name: &str) -> Option<PathBuf> {
        match &self.target {
            Target::Folder(root) => self.folders(root).last().map(|folder| files::database(folder, name)),
            Target::Server(_) => None,
        }
    }

    /// The folder of the databases, after those that it is in; empty on PostgreSQL.
    pub(crate) fn all_folders(&self) -> Vec<PathBuf> {
        match &self.target {
            Target::Folder(root) => self.folders(root),
            Target::Server(_) => Vec::new(),
        }
    }

    /// Runs a task with the server, and with the schema of a database.
    pub(crate) fn with_schema<T, E: From<OpenError>>(
        &self,
        name: &str,
        run: impl FnOnce(&postgres::Shared, &str) -> Result<T, E>,
    ) -> Result<T, E> {
        match &self.target {
            Target::Server(shared) => run(shared, &self.schema(name)),
            Target::Folder(_) => Err(OpenError::new("a folder has no schemas").into()),
        }
    }

    /// The folder of the databases, after those that it is in.
    fn folders(&self, root: &Path) -> Vec<PathBuf> {
        let mut folders = vec![root.to_owned()];
        if let Some(group) = &self.group {
            let groups = root.join(GROUPS);
            folders.extend([groups.clone(), groups.join(&**group)]);
        }
        folders
    }

    /// The schema of a database.
    fn schema(&self, name: &str) -> String {
        match &self.group {
            None => name.to_owned(),
            Some(group) => format!("{}{name}", schema_prefix(group)),
        }
    }
}

/// The start of the names of a group's schemas. Each belongs to one group: the name of a group has no underscore, and what follows
/// has none either.
fn schema_prefix(group: &str) -> String {
    format!("{SCHEMAS}{}_", group.replace('-', "_"))
}
