//! The root services in a demo: the sandbox without a name. They have the same controls, and are never closed or deleted.

use std::sync::Arc;

use db::Db;
use jiff::Timestamp;
use service::Instance;
use web::{App, Clock, ClockState, Controls, DeliveryGate, Result};

use crate::{
    Inner, Sandboxes,
    name::Name,
    open::{OpenSandbox, OpenService, Parts, clock_state},
    store,
    template::SEED,
};

/// The clock and the controls that all root services share.
#[derive(Debug, Clone)]
pub struct Root {
    pub clock: Clock,
    pub controls: Controls,
}

/// The stored state of the clock of the root services, for a command that runs beside them.
pub async fn root_clock(registry: &Db) -> Result<ClockState, db::Error> {
    let root = registry.read(|tx| store::by_name(tx, "")).await?;
    Ok(root.map(|row| clock_state(&row)).unwrap_or_default())
}

impl Sandboxes {
    /// Reads the state of the root services, in a demo. A clock that was set at start stays.
    pub(crate) async fn open_root(&self) -> Result<(), db::Error> {
        let Inner { setup, registry, opened, journals, .. } = &*self.0;
        let Some(Root { clock, controls }) = setup.root.clone().filter(|_| setup.demo) else {
            return Ok(());
        };
        let set = Some(clock.state()).filter(|state| *state != ClockState::default());
        let set = set.and_then(|state| serde_json::to_string(&state).ok());
        let now = self.0.clock.now();
        let row = registry
            .write(move |tx| {
                store::insert_root(tx, now)?;
                if let Some(state) = &set {
                    let change = |_: &str| Ok::<_, db::Error>((state.clone(), ()));
                    store::change_part(tx, "", store::Part::Clock, change)?;
                }
                store::by_name(tx, "")
            })
            .await?;
        let Some(row) = row else { return Ok(()) };
        let parts = Parts {
            clock,
            controls,
            journal: journals.of(&Name::root(), Timestamp::MIN),
            services: self.service_names(),
            now: opened.millis(),
        };
        let root = Arc::new(OpenSandbox::new(&Name::root(), row.clone(), parts));
        root.apply(row);
        let _ = self.0.root.set(root);
        Ok(())
    }

    /// The deliveries of a root service that fail on purpose, in a demo.
    pub fn root_delivery_gate(&self, service: &'static str) -> Option<DeliveryGate> {
        self.0.root.get().map(|_| self.delivery_gate(&Name::root(), service))
    }

    /// Gives an open root service the controls, in a demo, and saves its seed at the first start.
    pub async fn add_root(&self, service: &str, app: App, instance: Instance) -> Result<(), db::Error> {
        let (Some(root), Some(at)) = (self.0.root.get(), self.position(service)) else { return Ok(()) };
        let tables = self.0.setup.services[at].service.description().data_tables;
        if !instance.db.copies().await?.iter().any(|copy| copy == SEED) {
            instance.db.save_copy(SEED, tables).await?;
        }
        root.set_service(at, OpenService::of_root(app, instance));
        Ok(())
    }
}
