//! What signing in costs: an operation that wants an access token beside the same one that wants nothing, called over
//! the loopback interface, and what a check costs when nothing is remembered yet. The client shares the cores with the
//! service, so its cost is part of both rates.

mod service;

use std::{
    net::{IpAddr, Ipv4Addr},
    path::Path,
    time::{Duration, Instant},
};

use db::Db;
use identity::oauth::{self, AuthorizationServer};
use tokio::runtime::Runtime;
use uuid::Uuid;

use crate::{
    load::{self, Load},
    median,
    table::{self, FILL, ROWS, WORDS},
};

/// How much of its speed an operation keeps when it wants a token.
const TARGET: f64 = 0.9;
const ROUNDS: usize = 41;
const SLICE: Duration = Duration::from_millis(250);
const REQUESTS: i64 = 1_000;
const COLD_TOKENS: usize = 101;
const COLD_PASSWORDS: usize = 11;

const NAME: &str = "ada";
const PASSWORD: &str = "correct horse";

/// What was measured, to be printed.
pub(crate) struct SignIn {
    signed_in: f64,
    open: f64,
    without_token: f64,
    ratio: f64,
    ratio_without_token: f64,
    cold_token: Duration,
    cold_password: Duration,
}

pub(crate) fn measure(runtime: &Runtime, folder: &Path) -> SignIn {
    runtime.block_on(async {
        let db = table::ours(folder, &[identity::MIGRATIONS, oauth::MIGRATIONS]);
        let filled: Result<_, db::Error> = db.write(|tx| tx.execute(FILL, &[WORDS.into()])).await;
        filled.unwrap();
        let server = service::authorization_server(&db).await;
        let ada = service::accounts(&db).add(NAME, PASSWORD.into()).await.unwrap();
        let token = server.token_for(ada, Some("read")).await.unwrap();
        let mut load = Load::connect(service::serve(&db, &server).await).await;
        let unsigned = load::request("/v1/protected/1", None);
        assert_eq!(load.status(&unsigned).await, "401", "the operation is not protected");
        // The second differs from the first by the check alone: it sends the same headers. The third sends no token.
        let kinds = [("protected", Some(token.as_str())), ("open", Some(token.as_str())), ("open", None)];
        let kinds = kinds.map(|(operation, token)| requests(operation, token));
        let mut rates = [const { Vec::new() }; 3];
        for round in 0..=ROUNDS {
            for (rates, requests) in rates.iter_mut().zip(kinds) {
                let rate = load.rate(requests, SLICE).await;
                // The first round warms up.
                if round > 0 {
                    rates.push(rate);
                }
            }
        }
        // Slices in turn: other load on the machine lasts longer than two of them, and slows both.
        let beside = |other: usize| {
            median(rates[0].iter().zip(&rates[other]).map(|(one, other)| one / other).collect::<Vec<f64>>())
        };
        let (ratio, ratio_without_token) = (beside(1), beside(2));
        let cold_token = cold_token(&server, ada).await;
        let cold_password = cold_password(&db).await;
        let [signed_in, open, without_token] = rates.map(median);
        SignIn { signed_in, open, without_token, ratio, ratio_without_token, cold_token, cold_password }
    })
}

impl SignIn {
    pub(crate) fn print(&self) {
        let SignIn { signed_in, open, without_token, .. } = self;
        println!("{:<34}{:>12}{:>12}{:>9}{:>9}", "HTTP, per second", "signed in", "open", "ratio", "target");
        let (ratio, name) = (self.ratio, "read one row, the same request");
        println!("{name:<34}{signed_in:>12.0}{open:>12.0}{ratio:>9.2}{TARGET:>9.2}");
        let (ratio, name) = (self.ratio_without_token, "… beside one without a token");
        println!("{name:<34}{signed_in:>12.0}{without_token:>12.0}{ratio:>9.2}");
        println!("{:<34}{:>12}", "Sign-in, microseconds", "each");
        println!("{:<34}{:>12}", "check a new token (RS256)", self.cold_token.as_micros());
        println!("{:<34}{:>12}", "check a new password (argon2)", self.cold_password.as_micros());
        println!();
    }

    /// What was missed, if anything was.
    pub(crate) fn missed(&self) -> Option<String> {
        let ratio = self.ratio;
        (ratio < TARGET).then(|| {
            format!(
                "an operation with a known token is {ratio:.2} times the same without sign-in, not {TARGET:.2}"
            )
        })
    }
}

/// Requests for rows all over the table. They live as long as the program.
fn requests(operation: &str, token: Option<&str>) -> &'static [Vec<u8>] {
    let ids = (0..REQUESTS).map(|number| number * (ROWS / REQUESTS) + 1);
    let requests: Vec<_> = ids.map(|id| load::request(&format!("/v1/{operation}/{id}"), token)).collect();
    requests.leak()
}

/// What a token costs that was never seen: its signature, and asking whether it was revoked.
async fn cold_token(server: &AuthorizationServer, ada: Uuid) -> Duration {
    let verifier = server.verifier();
    let mut times = Vec::new();
    for _ in 0..COLD_TOKENS {
        let token = server.token_for(ada, Some("read")).await.unwrap();
        let start = Instant::now();
        verifier.check(&token).await.unwrap();
        times.push(start.elapsed());
    }
    median(times)
}

/// The cost of a password that is not cached.
async fn cold_password(db: &Db) -> Duration {
    let mut times = Vec::new();
    for _ in 0..COLD_PASSWORDS {
        let accounts = service::accounts(db);
        let start = Instant::now();
        accounts.sign_in(NAME, PASSWORD.into(), IpAddr::V4(Ipv4Addr::LOCALHOST)).await.unwrap();
        times.push(start.elapsed());
    }
    median(times)
}
