//! The template: databases with the demo data, of which each sandbox gets a copy.

use std::time::Duration;

use db::{Databases, WriteTx};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use service::{Description, Instance};
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use web::{Clock, Controls};

use crate::{
    Sandboxes, ServiceSetup,
    name::{Name, TEMPLATE},
    store,
};

/// The copy of the data to which a reset returns.
pub(crate) const SEED: &str = "seed";

/// How often a process notes that it uses its template, and looks for templates that no process uses.
const NOTED: Duration = Duration::from_secs(3600);

/// After this time without a note, a template on a shared database is deleted. On SQLite no other process can use one.
const UNUSED: SignedDuration = SignedDuration::from_hours(24);

/// The pause after an error.
const RETRY: Duration = Duration::from_secs(60);

/// The template of this program.
#[derive(Default)]
pub(crate) struct Template {
    /// Held while it is made.
    making: tokio::sync::Mutex<()>,
    is_ready: watch::Sender<bool>,
}

impl Sandboxes {
    /// Waits until the template is made, so that the first sandbox is created as fast as any other. [`Sandboxes::run`] makes it.
    pub async fn wait_for_template(&self) {
        // This owns the sender, so the channel cannot close during the wait.
        let _ = self.0.template.is_ready.subscribe().wait_for(|is_ready| *is_ready).await;
    }

    /// Makes the template in the background, and deletes those of other versions that no process uses.
    pub(crate) async fn keep_template(&self) {
        loop {
            let pause = match self.renew_template().await {
                Ok(()) => NOTED,
                Err(error) => {
                    tracing::warn!(error, "the template of sandboxes is not ready; this is tried again");
                    RETRY
                }
            };
            self.wait(pause).await;
        }
    }

    async fn renew_template(&self) -> Result<(), String> {
        self.prepare_template().await?;
        let (name, now) = (self.template_name(), self.0.clock.now());
        if !self.0.registry.write(move |tx| store::use_template(tx, &name, now)).await.map_err(text)? {
            self.forget_template().await;
            self.prepare_template().await?;
        }
        self.delete_unused_templates().await?;
        self.delete_orphans().await
    }

    /// Makes the template of this program, unless there is one.
    pub(crate) async fn prepare_template(&self) -> Result<(), String> {
        let template = &self.0.template;
        let _making = template.making.lock().await;
        if *template.is_ready.borrow() {
            return Ok(());
        }
        let (name, now) = (self.template_name(), self.0.clock.now());
        let used = name.clone();
        if !self.0.registry.write(move |tx| store::use_template(tx, &used, now)).await.map_err(text)? {
            // One after the other: this runs in the background, and takes less memory so.
            for setup in &self.0.setup.services {
                self.make_template(&name, setup).await?;
            }
            self.0.registry.write(move |tx| store::add_template(tx, &name, now)).await.map_err(text)?;
        }
        template.is_ready.send_replace(true);
        Ok(())
    }

    async fn make_template(&self, name: &str, setup: &ServiceSetup) -> Result<(), String> {
        let description = setup.service.description();
        let db = self.open_database(name, description, ()).await?;
        // The copy is saved last. Another process of this version may have made it, and sandboxes of it.
        if db.copies().await.map_err(text)?.iter().any(|copy| copy == SEED) {
            return Ok(());
        }
        let instance = setup.instance(db.clone(), name, Clock::system(), Controls::default(), self);
        // Opening adds the demo data. It is closed at the end of this function, since it must not be open when it is copied.
        let opened = setup.service.open(instance).await.map_err(text)?;
        drop(opened);
        // Each sandbox makes its own.
        description.delete_keys(&db).await.map_err(text)?;
        db.save_copy(SEED, description.data_tables).await.map_err(text)
    }

    /// Makes the template again before the next sandbox is created: it cannot be copied.
    pub(crate) async fn forget_template(&self) {
        self.0.template.is_ready.send_replace(false);
        let name = self.template_name();
        let forgotten = self.0.registry.write(move |tx| store::forget_template(tx, &name)).await;
        if let Err(error) = forgotten {
            tracing::warn!(%error, "the registry of sandboxes cannot be changed");
        }
    }

    /// Deletes the templates of other versions that no process uses. [`Sandboxes::run`] does it each hour.
    pub async fn delete_unused_templates(&self) -> Result<(), String> {
        let (own, prefix) = (self.template_name(), format!("{TEMPLATE}-"));
        let groups = self.blocking(|sandboxes| sandboxes.0.setup.databases.groups()).await?;
        for name in groups.into_iter().filter(|name| name.starts_with(&prefix) && *name != own) {
            let now = self.0.clock.now();
            let unused = if self.0.registry.is_shared() { UNUSED } else { SignedDuration::ZERO };
            let since = now.checked_sub(unused).unwrap_or(Timestamp::MIN);
            let expired = name.clone();
            let expire = move |tx: &mut WriteTx<'_>| store::expire_template(tx, &expired, since, now);
            if self.0.registry.write(expire).await.map_err(text)? {
                self.blocking(move |sandboxes| {
                    sandboxes.0.setup.databases.group(&name).and_then(|group| group.remove_group())
                })
                .await?;
            }
        }
        Ok(())
    }

    /// Gives a sandbox its copy of the template: those of all services at the same time, since a database server makes each
    /// on another connection.
    pub(crate) async fn copy_template(&self, name: &Name) -> Result<(), String> {
        let copies = (0..self.0.setup.services.len()).map(|at| {
            let (template, name) = (self.template_name(), name.clone());
            self.blocking(move |sandboxes| {
                let setup = &sandboxes.0.setup;
                let (template, group) =
                    (setup.databases.group(&template)?, setup.databases.group(name.as_str())?);
                let Description { name, migrations, .. } = setup.services[at].service.description();
                group.copy(&template, name, migrations)
            })
        });
        // All have ended when one has failed: the caller removes the sandbox.
        join_all(copies).await.into_iter().collect()
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

    /// Opens a database of a group. The opening has its permit until it has ended, also if the caller is dropped before.
    pub(crate) async fn open_database(
        &self,
        group: &str,
        service: &'static Description,
        permit: impl Send + 'static,
    ) -> Result<db::Db, String> {
        let group = group.to_owned();
        self.blocking(move |sandboxes| {
            let _permit = permit;
            let databases: Databases = sandboxes.0.setup.databases.group(&group)?;
            databases.open(service.name, service.migrations)
        })
        .await
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn text(error: impl ToString) -> String {
    error.to_string()
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
            delivery_gate: None,
            traces: self.traces.clone(),
        }
    }
}
