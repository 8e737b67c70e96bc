//! The personal data of a user: what `triptych user export` shows, and what `triptych user remove --erase` erases.
//!
//! Paid bookings and all payments stay, without an owner and without names, so that seats and money are still counted.

use service::PersonalData;
use webhooks::personal_data as of_webhooks;

use crate::{booking, idempotency, inbox, payment, removal};

/// Every kind that the tables of this service have. The owner of a row is the id of the account, as text.
pub(crate) const PERSONAL_DATA: &[PersonalData] = &[
    PersonalData {
        name: "bookings",
        export: |tx, account, after| booking::store::export(tx, &account.to_string(), after),
        erase: Some(|tx, account| removal::erase_some_bookings(tx, &account.to_string())),
    },
    PersonalData {
        name: "payments",
        export: |tx, account, after| payment::store::export(tx, &account.to_string(), after),
        erase: None,
    },
    PersonalData {
        name: "idempotency_keys",
        export: |tx, account, after| idempotency::export(tx, &account.to_string(), after),
        erase: Some(|tx, account| idempotency::erase_some(tx, &account.to_string())),
    },
    PersonalData {
        name: "inboxes",
        export: |tx, account, after| inbox::store::export(tx, &account.to_string(), after),
        erase: Some(|tx, account| inbox::store::delete_all(tx, &account.to_string())),
    },
    PersonalData {
        name: "webhook_events",
        export: |tx, account, after| of_webhooks::events(tx, &account.to_string(), after),
        erase: Some(|tx, account| of_webhooks::erase_some(tx, &account.to_string())),
    },
    PersonalData {
        name: "webhook_subscriptions",
        export: |tx, account, after| of_webhooks::subscriptions(tx, &account.to_string(), after),
        erase: None,
    },
    PersonalData {
        name: "webhook_deliveries",
        export: |tx, account, after| of_webhooks::deliveries(tx, &account.to_string(), after),
        erase: None,
    },
    PersonalData {
        name: "webhook_attempts",
        export: |tx, account, after| of_webhooks::attempts(tx, &account.to_string(), after),
        erase: None,
    },
];
