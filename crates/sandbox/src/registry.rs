//! The registry: creates, lists and deletes sandboxes.

use db::WriteTx;
use jiff::{SignedDuration, Timestamp, Unit};
use web::{Problem, Result, problem::UNAVAILABLE};

use crate::{
    Sandboxes,
    name::{Name, TEMPLATE},
    store::{self, Inserted, Key, NewSandbox, Sandbox, Status},
    token,
};

/// A creation or a removal takes less than this; one that did not end by then is of a process that has stopped.
const UNFINISHED: SignedDuration = SignedDuration::from_mins(2);

/// How long the row of a deleted sandbox stays. A process that did not look for so long closes all its sandboxes.
pub(crate) const REMEMBERED: SignedDuration = SignedDuration::from_hours(1);

/// How many sandboxes are deleted in one round.
const BATCH: i64 = 20;

/// Why a sandbox was not created.
#[derive(Debug)]
pub(crate) enum CreateError {
    Taken,
    TooMany,
    TooManyOfAddress,
    Failed(Problem),
}

impl From<db::Error> for CreateError {
    fn from(error: db::Error) -> Self {
        CreateError::Failed(error.into())
    }
}

impl Sandboxes {
    /// Creates a sandbox, and returns its control token.
    pub(crate) async fn create(
        &self,
        name: &Name,
        class: Option<String>,
        creator: Option<String>,
    ) -> Result<(Sandbox, String), CreateError> {
        let failed = |cause| CreateError::Failed(unavailable(cause));
        self.prepare_template().await.map_err(failed)?;
        let control_token = token::new(&self.0.setup.random);
        let new = NewSandbox { name: name.clone(), token_hash: token::hash(&control_token), class, creator };
        // In the precision of the database.
        let now = self.0.clock.now().round(Unit::Microsecond).unwrap_or_else(|_| self.0.clock.now());
        let key = Key { name: name.to_string(), created_at: now };
        let limits = store::Limits {
            most: self.0.setup.limits.most.into(),
            per_address: self.0.setup.limits.per_address.into(),
        };
        let inserted = self.0.registry.write(move |tx| store::insert(tx, &new, limits, now)).await?;
        match inserted {
            Inserted::Done => {}
            Inserted::Taken => return Err(CreateError::Taken),
            Inserted::TooMany => return Err(CreateError::TooMany),
            Inserted::TooManyOfAddress => return Err(CreateError::TooManyOfAddress),
        }
        // An earlier sandbox of this name may still be closing.
        self.close_in_background(name);
        if let Err(cause) = self.copy_template(name).await {
            // Another process may have deleted it, if this one could not note its use for long.
            self.forget_template().await;
            self.finish_removal(&key).await;
            return Err(failed(cause));
        }
        self.0.registry.write(move |tx| store::set_ready(tx, &key)).await?;
        let created = self.row(name).await?;
        created.map(|row| (row, control_token)).ok_or(CreateError::Taken)
    }

    /// A sandbox that can be used.
    pub(crate) async fn row(&self, name: &Name) -> Result<Option<Sandbox>, db::Error> {
        let name = name.to_string();
        let row = self.0.registry.read(move |tx| store::by_name(tx, &name)).await?;
        Ok(row.filter(|row| matches!(row.status, Status::Ready | Status::Root)))
    }

    /// When a sandbox that is not used any more is deleted.
    pub(crate) fn expires_at(&self, row: &Sandbox) -> Timestamp {
        row.used_at.checked_add(self.0.setup.limits.lifetime).unwrap_or(Timestamp::MAX)
    }

    /// Deletes a sandbox with its data; `false` when there is none, or when it is being deleted already.
    pub(crate) async fn delete(&self, name: &Name) -> Result<bool, db::Error> {
        self.delete_unused(name.as_str(), None).await
    }

    /// The same for a sandbox that was not used since a time.
    async fn delete_unused(&self, name: &str, since: Option<Timestamp>) -> Result<bool, db::Error> {
        let (row, now) = (name.to_owned(), self.0.clock.now());
        let removed = self.0.registry.write(move |tx| store::set_deleting(tx, &row, since, now)).await?;
        match removed {
            Some(key) => self.finish_removal(&key).await,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Deletes the data of a sandbox that is marked as being deleted, and then its row. What fails is tried again later.
    async fn finish_removal(&self, key: &Key) {
        if let Some(name) = Name::new(&key.name) {
            self.0.opened.close(&name).await;
            self.0.journals.remove(&name);
        }
        self.wait_for_other_processes().await;
        if let Err(error) = self.remove_data(key).await {
            tracing::warn!(sandbox = key.name, error, "a sandbox could not be deleted; this is tried again");
        }
    }

    async fn remove_data(&self, key: &Key) -> Result<(), String> {
        let text = |error: db::Error| error.to_string();
        let asked = key.clone();
        // Another process, or an earlier try, may have finished, and another sandbox may have the name now.
        if !self.0.registry.read(move |tx| store::is_removed(tx, &asked)).await.map_err(text)? {
            return Ok(());
        }
        let group = key.name.clone();
        self.blocking(move |sandboxes| {
            sandboxes.0.setup.databases.group(&group).and_then(|group| group.remove_group())
        })
        .await?;
        let deleted = key.clone();
        self.0.registry.write(move |tx| store::set_deleted(tx, &deleted)).await.map_err(text)
    }

    /// Deletes the data of sandboxes whose creation or deletion a process did not finish before it stopped. On a shared database another
    /// process may still be working on them, so that they are deleted later.
    pub(crate) async fn finish_interrupted(&self) -> Result<(), db::Error> {
        if self.0.registry.is_shared() {
            return Ok(());
        }
        let (now, most) = (self.0.clock.now(), self.0.setup.limits.most.into());
        for key in self.0.registry.read(move |tx| store::unfinished(tx, now, most)).await? {
            self.finish_removal(&key).await;
        }
        Ok(())
    }

    /// Deletes data that belongs to no sandbox: a process may have opened a database that another process had just deleted, which
    /// makes it again. [`Sandboxes::run`] does it each hour.
    pub async fn delete_orphans(&self) -> Result<(), String> {
        let text = |error: db::Error| error.to_string();
        // The groups first: a sandbox has its row before its data.
        let groups = self.blocking(|sandboxes| sandboxes.0.setup.databases.groups()).await?;
        let known = self.0.registry.read(store::names).await.map_err(text)?;
        let template = format!("{TEMPLATE}-");
        for name in groups.into_iter().filter(|name| !name.starts_with(&template) && !known.contains(name)) {
            let now = self.0.clock.now();
            let mark = move |tx: &mut WriteTx<'_>| store::set_orphan_deleting(tx, &name, now);
            if let Some(key) = self.0.registry.write(mark).await.map_err(text)? {
                self.finish_removal(&key).await;
            }
        }
        Ok(())
    }

    /// Deletes the sandboxes that were not used for their lifetime, and finishes what a stopped process has left.
    pub(crate) async fn delete_expired(&self) -> Result<(), db::Error> {
        let now = self.0.clock.now();
        let before = |age: SignedDuration| now.checked_sub(age).unwrap_or(Timestamp::MIN);
        let (unused, unfinished) = (before(self.0.setup.limits.lifetime), before(UNFINISHED));
        let expired = self.0.registry.read(move |tx| store::unused_since(tx, unused, BATCH)).await?;
        for name in expired {
            self.delete_unused(&name, Some(unused)).await?;
        }
        let left = self.0.registry.read(move |tx| store::unfinished(tx, unfinished, BATCH)).await?;
        for key in left {
            self.finish_removal(&key).await;
        }
        // The use of a sandbox is noted before it is deleted.
        let forgotten = before(self.0.setup.limits.lifetime.max(REMEMBERED) * 2);
        self.0.registry.write(move |tx| store::forget_deleted(tx, forgotten)).await
    }

    /// Runs work that waits for files or for the database server.
    pub(crate) async fn blocking<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Sandboxes) -> Result<R, db::OpenError> + Send + 'static,
    ) -> Result<R, String> {
        let sandboxes = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&sandboxes)).await;
        done.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }
}

/// The problem of a database that cannot be opened or made.
pub(crate) fn unavailable(cause: String) -> Problem {
    let detail = "The database of the sandbox is not available. Try again in a moment.";
    Problem::new(&UNAVAILABLE, detail).because(cause).retry_after(5)
}
