//! The three services in this process, each on an empty database with demo data, at an instant that does not change.

use db::Db;
use identity::Hashing;
use museum::Museum;
use petstore::Petstore;
use service::Instance;
use testkit::{Engine, Server, Store};
use train::Train;
use web::{App, Clock, ConnectionLimits, ControlState, Controls, Random, RequestLimits};

/// When all inputs are sent: Wednesday 13 May 2026, noon in Berlin.
const NOW: &str = "2026-05-13T10:00:00Z";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Petstore,
    Train,
    Museum,
}

impl Service {
    /// The public address, which is in links and tokens.
    fn address(self) -> &'static str {
        ["https://pets.example", "https://trains.example", "https://museum.example"][self as usize]
    }
}

/// A service that runs.
pub(crate) struct Running {
    pub(crate) server: Server,
    pub(crate) db: Db,
    // Last: the database is closed before its folder is deleted.
    _store: Store,
}

impl Running {
    /// Starts a service. No limit on the number of calls is reached, since an input must not depend on those before it.
    pub(crate) async fn start(service: Service, controls: ControlState) -> Self {
        let store = Store::new(Engine::Sqlite);
        let clock = Clock::manual(NOW.parse().unwrap());
        let (name, migrations) = match service {
            Service::Petstore => (petstore::SERVICE.name, petstore::MIGRATIONS),
            Service::Train => (train::SERVICE.name, train::MIGRATIONS),
            Service::Museum => (museum::SERVICE.name, museum::MIGRATIONS),
        };
        let db = store.open(name, migrations);
        let instance = Instance {
            demo: true,
            hashing: Hashing::LEAST_WORK,
            limits: RequestLimits { anonymous_calls_per_hour: u32::MAX, ..RequestLimits::default() },
            controls: Controls::new(controls),
            ..Instance::new(db.clone(), clock, Random::system()).at(service.address())
        };
        let app = app(service, instance).await;
        let server = Server::start(ConnectionLimits::default(), |_| app).await;
        Running { server, db, _store: store }
    }
}

async fn app(service: Service, instance: Instance) -> App {
    let calls_per_hour = u32::MAX;
    match service {
        Service::Petstore => {
            let default = petstore::Settings::default();
            let settings = petstore::Settings { calls_per_hour, sign_ups_per_hour: u32::MAX, ..default };
            Petstore::open(&settings, instance).await.unwrap().app()
        }
        Service::Train => {
            let settings = train::Settings {
                calls_per_hour,
                unpaid_holds: u32::MAX,
                test_events_per_hour: u32::MAX,
                ..train::Settings::default()
            };
            Train::open(settings, instance).await.unwrap().app()
        }
        Service::Museum => {
            let settings = museum::Settings { calls_per_hour, ..museum::Settings::default() };
            Museum::open(&settings, instance).await.unwrap().app()
        }
    }
}
