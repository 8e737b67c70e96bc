//! How a process sees the changes of the others, closes idle sandboxes and deletes expired ones.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use web::Result;

use super::Opened;
use crate::{
    Sandboxes,
    name::Name,
    registry::REMEMBERED,
    store::{self, Sandbox, Status},
};

/// How often the changes of other processes are read, how old the view of the registry may be when a call starts, and how long a
/// change waits until every process has seen it.
const POLL: Duration = Duration::from_millis(200);
const FRESH: Duration = Duration::from_millis(400);
const SEEN: Duration = Duration::from_millis(500);

/// How often idle sandboxes are closed, and expired ones deleted.
const UPKEEP: Duration = Duration::from_secs(10);

impl Opened {
    /// Whether the changes of other processes were read a short time ago.
    fn is_fresh(&self) -> bool {
        let seen = self.seen.load(Ordering::Acquire);
        seen > 0 && self.millis() - (seen - 1) < FRESH.as_millis() as u64
    }
}

impl Sandboxes {
    /// Whether the view of the registry is not too old to answer a call.
    pub(crate) fn is_fresh(&self) -> bool {
        !self.0.registry.is_shared() || self.0.opened.is_fresh()
    }

    /// Sees the changes of other processes, if the last look was too long ago.
    pub(crate) async fn refresh(&self) -> Result<(), db::Error> {
        if self.is_fresh() {
            return Ok(());
        }
        let mut view = self.0.opened.view.lock().await;
        if self.0.opened.is_fresh() { Ok(()) } else { self.look(&mut view).await }
    }

    /// Reads the changes since the last look.
    async fn look(&self, view: &mut i64) -> Result<(), db::Error> {
        let (began, last) = (self.0.opened.millis(), *view);
        let forgotten = u64::try_from(REMEMBERED.as_millis()).unwrap_or(u64::MAX);
        if began.saturating_sub(self.0.opened.seen.load(Ordering::Acquire)) >= forgotten {
            self.0.opened.close_all().await;
            self.0.journals.close_all();
        }
        let (version, changed) = self
            .0
            .registry
            .snapshot(move |tx| {
                let version = store::version(tx)?;
                let changed = if version > last { store::changed_after(tx, last)? } else { Vec::new() };
                Ok::<_, db::Error>((version, changed))
            })
            .await?;
        for row in changed {
            self.changed(row);
        }
        *view = version;
        self.0.opened.seen.store(began + 1, Ordering::Release);
        Ok(())
    }

    /// Takes over the changed row of a sandbox, if it is open.
    pub(crate) fn changed(&self, row: Sandbox) {
        if row.status == Status::Root {
            if let Some(root) = self.0.root.get() {
                root.apply(row);
            }
            return;
        }
        let Some(name) = Name::new(&row.name) else { return };
        if row.status != Status::Ready {
            self.0.journals.remove(&name);
        } else {
            let Some(sandbox) = self.0.opened.find(name.as_str()) else { return };
            // One that was deleted and created again is another sandbox.
            if row.created_at == sandbox.row().created_at {
                return sandbox.apply(row);
            }
        }
        self.close_in_background(&name);
    }

    /// Waits until every other process has seen a change.
    pub(crate) async fn wait_for_other_processes(&self) {
        if self.0.registry.is_shared() {
            self.wait(SEEN).await;
        }
    }

    pub(crate) async fn wait(&self, time: Duration) {
        let now = self.0.clock.now();
        self.0.clock.wait_until(now.checked_add(time).unwrap_or(now)).await;
    }

    /// Sees the changes of other processes, closes idle sandboxes, and deletes expired ones.
    pub(crate) async fn keep_up(&self) {
        let mut next_upkeep = Instant::now();
        loop {
            let in_use = self.0.root.get().is_some() || !self.0.opened.list().is_empty();
            let shared = self.0.registry.is_shared() && in_use;
            tokio::select! {
                () = self.wait(if shared { POLL } else { UPKEEP }) => {}
                () = self.0.opened.first.notified(), if !shared => {}
            }
            if shared {
                let mut view = self.0.opened.view.lock().await;
                if let Err(error) = self.look(&mut view).await {
                    tracing::warn!(%error, "the registry of sandboxes cannot be read");
                }
            }
            if next_upkeep <= Instant::now() {
                next_upkeep = Instant::now() + UPKEEP;
                self.close_idle();
                self.0.journals.free_memory(|name| self.find(name).is_some());
                if let Err(error) = self.delete_expired().await {
                    tracing::warn!(%error, "expired sandboxes cannot be deleted");
                }
            }
        }
    }

    fn close_idle(&self) {
        let now = self.0.opened.millis();
        let idle = u64::try_from(self.0.setup.limits.idle.as_millis()).unwrap_or(u64::MAX);
        for sandbox in self.0.opened.list() {
            let is_old = now.saturating_sub(sandbox.used.load(Ordering::Relaxed)) >= idle;
            if is_old && sandbox.is_idle() {
                self.close_in_background(&sandbox.name);
            }
        }
    }
}
