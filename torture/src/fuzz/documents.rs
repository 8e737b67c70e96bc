//! Requests that the documents of the services allow, and requests that they forbid, from Schemathesis.

use std::time::{Duration, Instant};

use rand::RngExt;
use testkit::{Engine, Schemathesis};
use tokio::runtime::Runtime;

use crate::{
    Add, Torture,
    installation::{Installation, Service},
    report::Line,
};

/// How long each document takes on each engine: two minutes for all.
const TIME: Duration = Duration::from_secs(20);

/// Which requests are refused is judged by a test of the program, with the reasons of those that a document cannot forbid. That has one
/// seed; another seed finds requests that have no reason yet.
const NOT_JUDGED: &str = "positive_data_acceptance,negative_data_rejection";

pub(super) fn run(torture: &Torture, add: Add<'_>) {
    let engines = torture.size(&[Engine::Sqlite, Engine::Postgres][..], &[Engine::Sqlite]);
    // `make test` has all of them in a test of the program.
    let services = torture.size(&Service::ALL[..], &[Service::Museum]);
    let runtime = Runtime::new().expect("a runtime");
    for engine in engines {
        add(runtime.block_on(on(torture, *engine, services)));
    }
}

async fn on(torture: &Torture, engine: Engine, services: &[Service]) -> Line {
    let mut random = torture.random("fuzz");
    let installation = Installation::new(torture, engine, "fuzz", &mut random);
    let (program, _) = installation.start();
    let (start, mut requests, mut violations) = (Instant::now(), 0, Vec::new());
    for service in services {
        let name = service.name();
        let token = match service {
            Service::Museum => String::new(),
            _ => installation.authorization(*service).replace("Bearer ", ""),
        };
        let address = installation.client(*service).address();
        let schemathesis = Schemathesis::new(name, address, &token).await;
        let seed = random.random::<u32>();
        // The short version ends after few requests, not after a time: on a busy machine that may pass before the first of them.
        let end = torture.size(
            format!("--max-time={}", TIME.as_secs()),
            "--include-operation-id=getMuseumHours".to_owned(),
        );
        let flags = [
            end,
            format!("--seed={seed}"),
            format!("--exclude-checks={NOT_JUDGED}"),
            "--no-shrink".to_owned(),
        ];
        match schemathesis.run(&flags, &installation.folder) {
            Ok(said) => match generated(&said) {
                Some(number) => requests += number,
                None => violations.push(format!("{name}: no request was made: {said}")),
            },
            Err(found) => violations.push(format!("{name}: {found}")),
        }
    }
    if program.logged().contains("a handler panicked") {
        violations.push("a handler panicked".to_owned());
    }
    let took = start.elapsed();
    assert!(program.terminate().success(), "the program stops after SIGTERM");
    Line {
        fault: format!("requests that {} OpenAPI documents allow and forbid, on {engine:?}", services.len()),
        must: "0 server errors, 0 panics, each answer in a form that the document has".to_owned(),
        measured: format!("{requests} requests in {:.0} s", took.as_secs_f64()),
        violations,
    }
}

/// How many requests it has made, by its summary.
fn generated(said: &str) -> Option<u64> {
    let number = said.lines().find_map(|line| line.trim().split_once(" generated,"))?.0.parse().ok();
    number.filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::generated;

    #[test]
    fn number_of_requests_is_that_of_the_summary() {
        let said = "1 error was generated\n\nTest cases:\n  438 generated, 438 passed, 12 skipped\n";
        assert_eq!(generated(said), Some(438));
        assert_eq!(generated("Test cases:\n  0 generated, 0 passed\n"), None);
        assert_eq!(generated(""), None);
    }
}
