//! `triptych health` and `triptych ready`: asks a running server of these settings, for containers, scripts and service managers.

use std::time::Duration;

use clap::Args;
use reqwest::{Client, redirect};
use serde_json::{Value, json};
use service::{Scheme, public_address};
use tokio::time::{Instant, interval};

use crate::{
    Failure,
    control::{
        self,
        server::{CallError, causes, text},
    },
    print,
    settings::Settings,
    table::{as_text, row, table},
};

/// The longest time for one answer. A database that does not answer keeps `/readyz` waiting.
const ANSWER_TIME: Duration = Duration::from_secs(5);

const REPEAT: Duration = Duration::from_millis(100);

#[derive(Args)]
pub(crate) struct ProbeArguments {
    /// Which services to ask; all if none is named
    #[arg(value_parser = crate::service_names::names(|_| true))]
    services: Vec<String>,
    /// Repeat until the answer is good, for at most this long
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Whether the process answers.
    Health,
    /// Whether it can serve: its database and its background tasks, too.
    Ready,
}

/// A part of the server with its own listener.
struct Part {
    name: String,
    address: String,
}

/// The answer of a part: what it says, or why it does not.
type Answer = Result<String, String>;

pub(crate) fn run(probe: Probe, arguments: &ProbeArguments, settings: &Settings) -> Result<(), Failure> {
    let parts = parts(&arguments.services, settings);
    let http = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .timeout(ANSWER_TIME)
        // The certificate is for the public name, not for the address of the listener. The question has no secret in it.
        .tls_danger_accept_invalid_certs(true)
        .build()?;
    control::block_on(async {
        let end = Instant::now() + Duration::from_secs(arguments.wait.into());
        let mut repeat = interval(REPEAT);
        loop {
            repeat.tick().await;
            let mut answers = Vec::new();
            for part in &parts {
                answers.push(ask(&http, probe, part).await);
            }
            if answers.iter().all(Result::is_ok) || Instant::now() >= end {
                return report(probe, &parts, &answers, arguments.json);
            }
        }
    })
}

fn parts(services: &[String], settings: &Settings) -> Vec<Part> {
    let asked = |name: &str| services.is_empty() || services.iter().any(|service| service == name);
    let services = settings
        .services()
        .into_iter()
        .map(|service| (service.description().name, settings.scheme(), service.listen()));
    // Where they listen: the public address may lead to another process.
    services
        .filter(|(name, ..)| asked(name))
        .chain([("admin", Scheme::Http, settings.admin_listen)])
        .map(|(name, scheme, listen)| Part {
            name: name.to_owned(),
            address: public_address("", scheme, listen),
        })
        .collect()
}

async fn ask(http: &Client, probe: Probe, part: &Part) -> Answer {
    let path = match probe {
        Probe::Health => "/healthz",
        Probe::Ready => "/readyz",
    };
    let response =
        http.get(format!("{}{path}", part.address)).send().await.map_err(|error| causes(&error))?;
    let status = response.status();
    let body = text(response).await.map_err(|error| error.to_string())?;
    if status.is_success() {
        return Ok(as_text(body.trim()));
    }
    let problem: Value = serde_json::from_str(&body).unwrap_or_default();
    Err(problem["detail"].as_str().map_or_else(|| status.to_string(), as_text))
}

fn report(probe: Probe, parts: &[Part], answers: &[Answer], as_json: bool) -> Result<(), Failure> {
    let is_good = answers.iter().all(Result::is_ok);
    let all = parts.iter().zip(answers);
    if as_json {
        let parts: Vec<_> = all
            .clone()
            .map(|(Part { name, address }, answer)| {
                let detail = answer.as_ref().map_or_else(Clone::clone, Clone::clone);
                json!({"name": name, "address": address, "ok": answer.is_ok(), "detail": detail})
            })
            .collect();
        print(&format!("{}\n", json!({"ok": is_good, "parts": parts})))?;
    } else {
        let rows: Vec<_> = all
            .clone()
            .map(|(Part { name, address }, answer)| {
                row([name, address, answer.as_ref().unwrap_or_else(|why| why)])
            })
            .collect();
        print(&table(&rows))?;
    }
    if is_good {
        return Ok(());
    }
    let bad: Vec<_> = all.filter(|(_, answer)| answer.is_err()).map(|(part, _)| part.name.as_str()).collect();
    let word = if probe == Probe::Health { "healthy" } else { "ready" };
    Err(CallError::failure(format!("not {word}: {}", bad.join(", "))))
}
