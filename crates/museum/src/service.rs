//! The description of the museum for the program that runs it.

use std::{net::SocketAddr, sync::Arc};

use db::Migrations;
use futures_util::{FutureExt, future::BoxFuture};
use identity::ChangeError;
use jiff::Timestamp;
use service::{
    DemoCredentials, Description, Error, Instance, Invariant, PersonalData, Pruning, Running, Scheme,
    Service, public_address,
};
use utoipa::openapi::OpenApi;
use web::App;

use crate::{DEMO_ACCOUNT, Museum, Settings, examples, hours::Hours, routes_and_document, ticket};

/// The tables of this service.
pub const MIGRATIONS: &[Migrations] =
    &[identity::MIGRATIONS, identity::quota::MIGRATIONS, model::migrations!("museum")];

/// The properties that all instances share.
pub const SERVICE: Description = Description {
    name: "museum",
    title: "Museum",
    title_in_a_sentence: "the museum",
    prefix: "/v1.1",
    example_address: "https://museum.example.com",
    migrations: MIGRATIONS,
    data_tables: &["special_event", "special_event_date", "ticket", "admission", "demo_event"],
    oauth: None,
    has_api_keys: false,
    gauges: &[],
    prunings: &[
        Pruning {
            name: "tickets",
            about: "Tickets for earlier days, with their admissions",
            count: "SELECT count(*) FROM ticket WHERE date < $1",
            delete: &[
                "DELETE FROM admission WHERE ticket_id IN
                     (SELECT id FROM ticket WHERE date < $1 ORDER BY date, id LIMIT 1000)",
                db::delete_some!("ticket", "id", "date < $1 ORDER BY date, id LIMIT 1000"),
            ],
        },
        Pruning {
            name: "events",
            about: "Special events that ended earlier",
            count: "SELECT count(*) FROM special_event WHERE id IN
                 (SELECT event_id FROM special_event_date GROUP BY event_id HAVING max(date) < $1)",
            delete: &["DELETE FROM special_event WHERE id IN
                 (SELECT event_id FROM special_event_date GROUP BY event_id HAVING max(date) < $1 LIMIT 1000)"],
        },
    ],
    // Events name no user.
    personal_data: &[PersonalData {
        name: "tickets",
        export: ticket::store::export,
        erase: Some(ticket::store::erase_some),
    }],
    invariants: &[
        Invariant {
            sentence: "Each admission is of a ticket that was sold.",
            violations: "SELECT count(*) FROM admission WHERE NOT EXISTS
                 (SELECT 1 FROM ticket WHERE ticket.id = admission.ticket_id)",
        },
        Invariant {
            sentence: "The calendar has the names of its events.",
            violations: "SELECT count(*) FROM special_event_date AS day JOIN special_event AS event ON event.id = day.event_id
                 WHERE day.name <> event.name",
        },
    ],
};

impl Service for Settings {
    fn shared(&self) -> Arc<dyn Service> {
        Arc::new(self.clone())
    }

    fn description(&self) -> &'static Description {
        &SERVICE
    }

    fn listen(&self) -> SocketAddr {
        self.listen
    }

    fn address(&self) -> &str {
        &self.address
    }

    /// Without an address in the settings, links are paths. With TLS they are not: the link in a QR code needs the scheme.
    fn instance_address(&self, scheme: Scheme, listening: SocketAddr) -> String {
        match scheme {
            Scheme::Http => self.address.clone(),
            Scheme::Https => public_address(&self.address, scheme, listening),
        }
    }

    fn check(&self) -> Result<(), String> {
        service::at_least_one(&[("calls_per_hour", self.calls_per_hour)])?;
        self.wallet.check()?;
        Hours::new(self).map(drop).map_err(|error| error.0)
    }

    fn sign_in_help(&self, demo: bool) -> Option<String> {
        let (name, password) = DEMO_ACCOUNT;
        demo.then(|| format!("HTTP Basic, {name} / {password}"))
    }

    fn demo_credentials(&self) -> Option<DemoCredentials> {
        let (username, password) = DEMO_ACCOUNT;
        Some(DemoCredentials { username, password, api_key: None, client_id: None })
    }

    fn openapi(&self, address: &str, now: Timestamp) -> Result<OpenApi, Error> {
        Ok(examples::add(routes_and_document(address).1, &Hours::new(self)?, now))
    }

    fn open(&self, instance: Instance) -> BoxFuture<'_, Result<Box<dyn Running>, Error>> {
        async move { Ok(Box::new(Museum::open(self, instance).await?) as Box<dyn Running>) }.boxed()
    }

    fn add_demo_sign_in<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), Error>> {
        async move { Ok(SERVICE.add_demo_accounts(instance, &[DEMO_ACCOUNT]).await?) }.boxed()
    }

    /// Removes an account, in one transaction with the email addresses in the tickets it bought; the tickets stay.
    fn remove_user<'a>(
        &'a self,
        instance: &'a Instance,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), ChangeError>> {
        async move { SERVICE.accounts(instance)?.remove_with(name, ticket::store::strip_emails).await }
            .boxed()
    }
}

impl Running for Museum {
    fn app(&self) -> App {
        self.app()
    }

    fn run(self: Box<Self>, stop: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        Museum::run(*self, stop).boxed()
    }
}
