//! All rows of one of the databases of a process, read and written.

use crate::{
    databases::Databases,
    error::OpenError,
    migration::{Migrations, missing},
    name::check_database,
    sqlite,
    transfer::{Digests, Part, Sink, Source, TransferError},
};

impl Databases {
    /// Whether there is a database with this name that was opened before.
    pub fn has(&self, name: &str) -> Result<bool, OpenError> {
        check_database(name)?;
        match self.file(name) {
            Some(path) => Ok(path.is_file()),
            None => self.with_schema(name, |shared, schema| shared.is_migrated(schema)),
        }
    }

    /// Reads all rows of a database in one state, also of its copies, while other processes use it. Blocks; call it on a blocking
    /// thread.
    pub fn export(&self, name: &str, sink: &mut Sink<'_>) -> Result<Digests, TransferError> {
        check_database(name)?;
        match self.file(name) {
            Some(path) => sqlite::transfer::export(&path, sink),
            None => self.with_schema(name, |shared, schema| shared.export(schema, sink)),
        }
    }

    /// Makes a database of the parts of another one, which may be of an older version of this program. The rows are read back and
    /// compared before they are committed: after an error, or a crash at any time, the database does not exist. It must not exist
    /// before. Blocks; call it on a blocking thread.
    pub fn import(
        &self,
        name: &str,
        migrations: &[Migrations],
        source: &mut Source<'_>,
    ) -> Result<Digests, TransferError> {
        if self.has(name)? {
            return Err(TransferError::new("it exists already"));
        }
        let Some(Part::Versions(versions)) = source.next().transpose()? else {
            return Err(TransferError::new("the versions of the tables are missing"));
        };
        let migrations = at_versions(migrations, &versions)?;
        match self.file(name) {
            Some(_) => sqlite::transfer::import(&self.all_folders(), name, &migrations, source),
            None => self.with_schema(name, |shared, schema| shared.import(schema, &migrations, source)),
        }
    }
}

/// The migrations that a database with these versions has.
fn at_versions(
    migrations: &[Migrations],
    versions: &[(String, i64)],
) -> Result<Vec<Migrations>, TransferError> {
    missing(migrations, versions).map_err(TransferError::new)?;
    let at = |part: &Migrations| {
        let version = versions.iter().find(|(component, _)| component == part.component());
        part.up_to(version.and_then(|(_, version)| usize::try_from(*version).ok()).unwrap_or_default())
    };
    Ok(migrations.iter().map(at).collect())
}
