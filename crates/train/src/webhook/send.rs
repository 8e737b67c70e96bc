//! Functions of this service for deliveries: bearer tokens, and which owners get events.

use std::{sync::Arc, time::Duration};

use db::Db;
use identity::oauth::{Signer, is_demo_subject};
use moka::sync::Cache;
use web::Clock;
use webhooks::{MaySend, TokenFor};

use crate::traveller;

/// How many tokens for subscribers are cached: signing one takes about as long as a delivery.
const TOKENS: u64 = 10_000;
const TOKEN_KEPT: Duration = Duration::from_secs(60);

/// Signs the bearer tokens of deliveries. A token is valid for five minutes and reused for one.
pub(crate) fn token_for(signer: Signer, db: Db, clock: &Clock) -> TokenFor {
    let made: Cache<(String, String, i64), String> =
        Cache::builder().max_capacity(TOKENS).time_to_live(TOKEN_KEPT).build();
    // A token has the time of the machine.
    let clock = clock.of_machine();
    Arc::new(move |owner, subscriber| {
        let minute = clock.now().as_second().div_euclid(60);
        let key = (owner, subscriber, minute);
        let (signer, db, made) = (signer.clone(), db.clone(), made.clone());
        Box::pin(async move {
            if let Some(token) = made.get(&key) {
                return Some(token);
            }
            let owner = key.0.clone();
            match db.read(move |tx| traveller::is_removed(tx, &owner)).await {
                Ok(false) => {}
                Ok(true) => return None,
                Err(error) => {
                    tracing::warn!(%error, "a webhook goes without its token");
                    return None;
                }
            }
            match signer.token_for_audience(&key.0, &key.1, "read").await {
                Ok(token) => {
                    made.insert(key, token.clone());
                    Some(token)
                }
                Err(error) => {
                    tracing::warn!(%error, "a webhook goes without its token");
                    None
                }
            }
        })
    })
}

/// Decides whose events are delivered: those of demo accounts only in a demo.
pub(crate) fn outside_a_demo(db: Db) -> MaySend {
    Arc::new(move |owner| {
        let asked = db.clone();
        Box::pin(async move {
            let found = asked.read(move |tx| is_demo_subject(tx, &owner)).await;
            found.map(|demo| !demo).unwrap_or_else(|error| {
                tracing::warn!(%error, "a webhook is not sent now");
                false
            })
        })
    })
}
