//! The description of the train service for the program that runs it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use db::{Db, Migrations, Tx};
use futures_util::{FutureExt, future::BoxFuture};
use identity::{
    ChangeError,
    oauth::{self, Scope},
};
use ipnet::IpNet;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use service::{
    Delivery, DemoCredentials, Description, Error, Figure, Gauge, Instance, Invariant, Oauth, OauthSettings,
    Pruning, Running, Service,
};
use utoipa::openapi::OpenApi;
use uuid::Uuid;
use web::App;

use crate::{
    DEMO_USERS, Timetable, Train, examples, personal_data::PERSONAL_DATA, removal, routes_and_document,
};

/// The tables of this service.
pub const MIGRATIONS: &[Migrations] = &[
    identity::MIGRATIONS,
    oauth::MIGRATIONS,
    identity::quota::MIGRATIONS,
    webhooks::MIGRATIONS,
    model::migrations!("train"),
];

/// The security scheme of access tokens in the OpenAPI document.
pub(crate) const OAUTH: &str = "OAuth2";

/// The scopes of access tokens.
pub(crate) const SCOPES: &[Scope] = &[
    Scope { name: "read", words: "see stations, trips and your bookings" },
    Scope { name: "write", words: "book, pay and cancel for you" },
];

/// The trips before the date $1 whose bookings are final, and for whose payments nothing is left to do.
macro_rules! old_trips {
    () => {
        "SELECT trip_id FROM trip_seats WHERE date < $1
         AND trip_id NOT IN (SELECT trip_id FROM booking WHERE status = 'held')
         AND trip_id NOT IN (SELECT booking.trip_id FROM payment JOIN booking ON booking.id = payment.booking_id
             WHERE payment.check_at IS NOT NULL)"
    };
}

/// Some of these trips. They are the same in each statement of a transaction that deletes what belongs to them.
macro_rules! some_old_trips {
    () => {
        concat!(old_trips!(), " ORDER BY date, trip_id LIMIT 100")
    };
}

/// The properties that all instances share.
pub const SERVICE: Description = Description {
    name: "train",
    title: "Train travel",
    title_in_a_sentence: "the train service",
    prefix: "",
    example_address: "https://trains.example.com",
    migrations: MIGRATIONS,
    data_tables: &[
        "trip_seats",
        "booking",
        "payment",
        "sandbox_charge",
        "idempotency",
        "traveller",
        "webhook_owner",
        "webhook_subscription",
        "webhook_old_secret",
        "webhook_event",
        "webhook_delivery",
        "webhook_attempt",
        "inbox",
        "inbox_message",
    ],
    oauth: Some(Oauth { scopes: SCOPES, scheme: OAUTH, sign_up: true }),
    has_api_keys: false,
    gauges: &[
        Gauge {
            name: "triptych_train_held_bookings",
            help: "Bookings that hold a seat and are not paid for.",
            figure: Figure::Number("SELECT count(*) FROM booking WHERE status = 'held'"),
        },
        Gauge {
            name: "triptych_webhook_outbox_deliveries",
            help: "Deliveries that are not finished: ready, being sent, or waiting for a retry.",
            // One index for each of these.
            figure: Figure::Number(
                "SELECT (SELECT count(*) FROM webhook_delivery WHERE status = 'ready')
                      + (SELECT count(*) FROM webhook_delivery WHERE status = 'sending')
                      + (SELECT count(*) FROM webhook_delivery WHERE status = 'waiting')",
            ),
        },
        Gauge {
            name: "triptych_webhook_outbox_age_seconds",
            help: "How long the delivery that has been ready for the longest time has not been sent.",
            figure: Figure::Age("SELECT min(due_at) FROM webhook_delivery WHERE status = 'ready'"),
        },
    ],
    prunings: &[Pruning {
        name: "bookings",
        about: "Bookings of earlier trips, with their payments",
        count: concat!("SELECT count(*) FROM booking WHERE trip_id IN (", old_trips!(), ")"),
        delete: &[
            concat!(
                "DELETE FROM sandbox_charge WHERE payment_id IN (SELECT payment.id FROM payment
                 JOIN booking ON booking.id = payment.booking_id WHERE booking.trip_id IN (",
                some_old_trips!(),
                "))"
            ),
            concat!(
                "DELETE FROM payment WHERE booking_id IN (SELECT id FROM booking WHERE trip_id IN (",
                some_old_trips!(),
                "))"
            ),
            concat!("DELETE FROM booking WHERE trip_id IN (", some_old_trips!(), ")"),
            concat!("DELETE FROM trip_seats WHERE trip_id IN (", some_old_trips!(), ")"),
        ],
    }],
    personal_data: PERSONAL_DATA,
    invariants: &[
        Invariant {
            sentence: "The taken seats of each trip are its held and confirmed bookings.",
            violations: "SELECT count(*) FROM trip_seats AS trip WHERE trip.taken <>
                 (SELECT count(*) FROM booking WHERE booking.trip_id = trip.trip_id AND status IN ('held', 'confirmed'))",
        },
        Invariant {
            sentence: "Each confirmed booking is paid for, and no other booking is.",
            violations: "SELECT count(*) FROM booking WHERE (status = 'confirmed') <> EXISTS
                 (SELECT 1 FROM payment WHERE payment.booking_id = booking.id AND payment.status = 'succeeded')",
        },
        Invariant {
            sentence: "No payment that failed or was refunded is charged.",
            violations: "SELECT count(*) FROM payment JOIN sandbox_charge AS charge ON charge.payment_id = payment.id
                 WHERE payment.status IN ('failed', 'refunded') AND charge.outcome = 'succeeded' AND charge.refunded_at IS NULL",
        },
        Invariant {
            sentence: "The subscriptions of each owner are counted.",
            violations: "SELECT count(*) FROM webhook_owner WHERE subscriptions <>
                 (SELECT count(*) FROM webhook_subscription AS subscription WHERE subscription.owner = webhook_owner.owner)",
        },
        Invariant {
            sentence: "Each delivery in the outbox has its event.",
            violations: "SELECT count(*) FROM webhook_delivery AS delivery WHERE NOT EXISTS
                 (SELECT 1 FROM webhook_event WHERE webhook_event.id = delivery.event_id)",
        },
    ],
};

/// The settings of the train service: the section `[train]` of the settings file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where it listens.
    #[serde(deserialize_with = "service::listen")]
    pub listen: SocketAddr,
    /// The public address, without a slash at the end; empty if that is where it listens.
    pub address: String,
    /// How many calls an hour a user may make, or a client by itself.
    pub calls_per_hour: u32,
    /// How long a seat is held until it is paid for.
    pub hold_seconds: u32,
    /// How many seats a user may hold without having paid for them.
    pub unpaid_holds: u32,
    /// How many payments for a booking may fail in an hour.
    pub declined_payments_per_hour: u32,
    /// How many payments of a user may fail in an hour, over all bookings.
    pub declined_payments_per_user_per_hour: u32,
    /// How many test events and redeliveries may be requested for a webhook subscription in an hour.
    pub test_events_per_hour: u32,
    /// For how long a process leases a webhook delivery before it sends it.
    pub webhook_lease_seconds: u32,
    /// The operator's networks that webhooks may go to, in addition to public addresses.
    #[serde(deserialize_with = "service::networks")]
    pub webhook_networks: Vec<IpNet>,
    pub oauth: OauthSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            listen: (Ipv4Addr::LOCALHOST, 8081).into(),
            address: String::new(),
            calls_per_hour: 100_000,
            hold_seconds: 3600,
            unpaid_holds: 20,
            declined_payments_per_hour: 10,
            declined_payments_per_user_per_hour: 60,
            test_events_per_hour: 60,
            webhook_lease_seconds: 60,
            webhook_networks: Vec::new(),
            oauth: OauthSettings::default(),
        }
    }
}

impl Settings {
    /// How long a seat is held until it is paid for.
    pub(crate) fn hold(&self) -> SignedDuration {
        SignedDuration::from_secs(self.hold_seconds.into())
    }
}

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

    fn oauth(&self) -> Option<&OauthSettings> {
        Some(&self.oauth)
    }

    fn check(&self) -> Result<(), String> {
        service::at_least_one(&[
            ("calls_per_hour", self.calls_per_hour),
            ("hold_seconds", self.hold_seconds),
            ("unpaid_holds", self.unpaid_holds),
            ("declined_payments_per_hour", self.declined_payments_per_hour),
            ("declined_payments_per_user_per_hour", self.declined_payments_per_user_per_hour),
            ("test_events_per_hour", self.test_events_per_hour),
            ("webhook_lease_seconds", self.webhook_lease_seconds),
        ])
    }

    fn needs_address(&self) -> bool {
        // Also with an external issuer: webhooks carry tokens that the service signs.
        true
    }

    fn needs_secret(&self) -> bool {
        true
    }

    fn sign_in_help(&self, demo: bool) -> Option<String> {
        let (name, password) = DEMO_USERS[0];
        match self.oauth.issuer.as_str() {
            "" => demo.then(|| format!("OAuth, {name} / {password}")),
            issuer => Some(format!("tokens of {issuer}")),
        }
    }

    fn demo_credentials(&self) -> Option<DemoCredentials> {
        let (username, password) = DEMO_USERS[0];
        let client_id = Some(oauth::DEMO_CLIENT);
        let own = self.oauth.issuer.is_empty();
        own.then_some(DemoCredentials { username, password, api_key: None, client_id })
    }

    fn openapi(&self, address: &str, now: Timestamp) -> Result<OpenApi, Error> {
        let document = routes_and_document(address, self.hold()).1;
        let timetable = Timetable::built_in()?;
        Ok(examples::with_examples(document, &timetable, now))
    }

    fn open(&self, instance: Instance) -> BoxFuture<'_, Result<Box<dyn Running>, Error>> {
        async move { Ok(Box::new(Train::open(self.clone(), instance).await?) as Box<dyn Running>) }.boxed()
    }

    fn deliveries<'a>(
        &'a self,
        db: &'a Db,
        events: &'a [Uuid],
    ) -> BoxFuture<'a, Result<Vec<Delivery>, db::Error>> {
        let events = events.to_vec();
        let of_event = |event, found: webhooks::Delivery| {
            let webhooks::Delivery { subscription, status, attempts } = found;
            Delivery { event, subscription, status, attempts }
        };
        let read = move |tx: &mut Tx<'_>| {
            let mut all = Vec::new();
            for &event in &events {
                let found = webhooks::deliveries(tx, event)?;
                all.extend(found.into_iter().map(|delivery| of_event(event, delivery)));
            }
            Ok(all)
        };
        db.read(read).boxed()
    }

    fn add_demo_sign_in<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), Error>> {
        async move {
            SERVICE.add_demo_accounts(instance, DEMO_USERS).await?;
            match self.oauth.issuer.is_empty() {
                true => SERVICE.add_demo_client(instance).await,
                false => Ok(()),
            }
        }
        .boxed()
    }

    fn remove_user<'a>(
        &'a self,
        instance: &'a Instance,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), ChangeError>> {
        async move { removal::remove_user(&SERVICE.accounts(instance)?, name).await }.boxed()
    }
}

impl Running for Train {
    fn app(&self) -> App {
        self.app()
    }

    fn run(self: Box<Self>, stop: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        Train::run(*self, stop).boxed()
    }
}
