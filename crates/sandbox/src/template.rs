//! The template: databases with the demo data, of which each sandbox gets a copy.

use db::Databases;
use service::{Description, Instance};
use sha2::{Digest, Sha256};
use web::{Clock, Controls, Problem, Result};

use crate::{
    Sandboxes, ServiceSetup,
    name::{Name, TEMPLATE},
    registry::unavailable,
    store,
};

/// The copy of the data to which a reset returns.
pub(crate) const SEED: &str = "seed";

impl Sandboxes {
    /// Makes the template of this program, unless there is one.
    pub(crate) async fn prepare_template(&self) -> Result<()> {
        let mut is_ready = self.0.template.lock().await;
        if *is_ready {
            return Ok(());
        }
        let name = self.template_name();
        if self.0.registry.read(store::template).await? != name {
            for setup in &self.0.setup.services {
                self.make_template(&name, setup).await?;
            }
            self.0.registry.write(move |tx| store::set_template(tx, &name)).await?;
        }
        *is_ready = true;
        Ok(())
    }

    async fn make_template(&self, name: &str, setup: &ServiceSetup) -> Result<()> {
        let description = setup.service.description();
        let db = self.open_database(name, description).await?;
        let instance = setup.instance(db.clone(), name, Clock::system(), Controls::default(), self);
        // Opening adds the demo data. It is closed at the end of this function, since it must not be open when it is copied.
        let opened = setup.service.open(instance).await.map_err(Problem::internal)?;
        drop(opened);
        Ok(db.save_copy(SEED, description.data_tables).await?)
    }

    /// Gives a sandbox its copy of the template.
    pub(crate) async fn copy_template(&self, name: &Name) -> Result<()> {
        let (template, name) = (self.template_name(), name.clone());
        let copied = self.blocking(move |sandboxes| {
            let databases = &sandboxes.0.setup.databases;
            let (template, group) = (databases.group(&template)?, databases.group(name.as_str())?);
            for setup in &sandboxes.0.setup.services {
                let Description { name, migrations, .. } = setup.service.description();
                group.copy(&template, name, migrations)?;
            }
            Ok(())
        });
        copied.await.map_err(unavailable)
    }

    /// The name of the template: another one for each version of the program and its tables.
    fn template_name(&self) -> String {
        let mut version = Sha256::new();
        version.update(env!("CARGO_PKG_VERSION"));
        for setup in &self.0.setup.services {
            let Description { name, migrations, .. } = setup.service.description();
            version.update(format!(
                "{name}{:?}",
                migrations.iter().map(db::Migrations::len).collect::<Vec<_>>()
            ));
        }
        let digest = version.finalize();
        let digits: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("{TEMPLATE}-{digits}")
    }

    /// Opens a database of a group.
    pub(crate) async fn open_database(&self, group: &str, service: &'static Description) -> Result<db::Db> {
        let group = group.to_owned();
        let opened = self.blocking(move |sandboxes| {
            let databases: Databases = sandboxes.0.setup.databases.group(&group)?;
            databases.open(service.name, service.migrations)
        });
        opened.await.map_err(unavailable)
    }
}

impl ServiceSetup {
    /// What an instance of a sandbox is opened with.
    pub(crate) fn instance(
        &self,
        db: db::Db,
        sandbox: &str,
        clock: Clock,
        controls: Controls,
        sandboxes: &Sandboxes,
    ) -> Instance {
        Instance {
            db,
            clock,
            random: sandboxes.0.setup.random.clone(),
            address: format!("{}/sandbox/{sandbox}", self.address),
            limits: self.limits,
            demo: true,
            is_local: self.is_local,
            secret: self.secret.clone(),
            hashing: self.hashing,
            controls,
        }
    }
}
