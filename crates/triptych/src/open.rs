//! Opens the databases of services, for the program that serves them and for commands.

use std::time::Duration;

use db::{Databases, Db, Limits, Location, Migrations};
use service::{Description, Instance, Service};
use web::{Clock, Random};

use crate::{Failure, settings::Settings};

/// Connects to where the databases are, off the threads that serve, since that may wait for the server.
async fn connect(location: Location, limits: Limits) -> Result<Databases, Failure> {
    Ok(tokio::task::spawn_blocking(move || Databases::connect(&location, limits)).await??)
}

/// The same with the replica, if there is one, and straight to the workers of Citus if that is set.
pub(crate) async fn connect_for_services(settings: &Settings) -> Result<Databases, Failure> {
    let mut databases = connect(settings.location(), settings.limits.database()).await?;
    if settings.database_workers {
        databases = databases.with_workers()?;
    }
    match settings.replica() {
        Some(url) => Ok(databases.with_replica(url).await?),
        None => Ok(databases),
    }
}

/// Opens a service's database, which may wait for another process to migrate it.
pub(crate) async fn open(databases: &Databases, service: &Description) -> Result<Db, Failure> {
    let databases = databases.clone();
    let (name, migrations): (_, &'static [Migrations]) = (service.name, service.migrations);
    Ok(tokio::task::spawn_blocking(move || databases.open(name, migrations)).await??)
}

/// Opens the instance of a service that was started before, for commands: with a mistyped folder they must create nothing, and
/// they do not wait for a database server that is down.
pub(crate) async fn open_existing(service: &dyn Service, settings: &Settings) -> Result<Instance, Failure> {
    open_existing_with(service, settings, settings.limits.database()).await
}

/// The same with other limits.
pub(crate) async fn open_existing_with(
    service: &dyn Service,
    settings: &Settings,
    limits: Limits,
) -> Result<Instance, Failure> {
    let Description { name, .. } = *service.description();
    if settings.has_own_database() && !settings.data.join(format!("{name}.db")).is_file() {
        let missing = format!("there is no database of {name} in {}", settings.data.display());
        return Err(format!("{missing}: check --data, or start triptych there once, which makes it").into());
    }
    let limits = Limits { connections: 2, start: Duration::ZERO, ..limits };
    let databases = connect(settings.location(), limits).await?;
    let db = open(&databases, service.description()).await?;
    let instance = Instance::new(db, clock_of_services(settings, &databases).await?, Random::system());
    Ok(Instance { demo: settings.demo(), ..instance })
}

/// The clock of the services for a command, which reads where a demo has moved it.
async fn clock_of_services(settings: &Settings, databases: &Databases) -> Result<Clock, Failure> {
    let is_controlled = settings.demo() && settings.sandboxes.enabled;
    let is_there =
        !settings.has_own_database() || settings.data.join(format!("{}.db", sandbox::DATABASE)).is_file();
    let state = if is_controlled && is_there {
        let databases = databases.clone();
        let open = move || databases.open(sandbox::DATABASE, sandbox::MIGRATIONS);
        sandbox::root_clock(&tokio::task::spawn_blocking(open).await??).await?
    } else {
        settings.clock_at(Clock::machine_time())
    };
    Ok(Clock::adjustable(state))
}
