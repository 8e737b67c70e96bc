//! `triptych check`: verifies what is always true of the data, on the database of a server that runs or not.

use std::time::Duration;

use clap::Args;
use db::{Db, Error, Limits};
use serde_json::json;
use service::Instance;

use crate::{
    Failure, control,
    open::open_existing_with,
    print,
    settings::Settings,
    table::{row, table},
};

/// The timeout of a check, if that of requests is not longer: it reads whole tables, and no client waits for it.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);

#[derive(Args)]
pub(crate) struct CheckArguments {
    /// Which services to check; all if none is named
    #[arg(value_parser = crate::service_names::names(|_| true))]
    services: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Something is not as it must be. The program exits with code 1.
#[derive(Debug, thiserror::Error)]
#[error("{0} of {1} checks failed: restore a backup, or report this as a bug")]
pub(crate) struct Violated(usize, usize);

/// The result of one check.
struct Checked {
    service: &'static str,
    sentence: &'static str,
    /// What is wrong; `None` if nothing is.
    fault: Option<String>,
}

pub(crate) fn run(arguments: &CheckArguments, settings: &Settings) -> Result<(), Failure> {
    let named =
        |name: &str| arguments.services.is_empty() || arguments.services.iter().any(|one| one == name);
    control::block_on(async {
        let mut checked = Vec::new();
        for service in settings.services() {
            let description = service.description();
            if !named(description.name) {
                continue;
            }
            let limits = settings.limits.database();
            let limits = Limits { wait: limits.wait.max(TIMEOUT), ..limits };
            let Instance { db, .. } = open_existing_with(service, settings, limits).await?;
            let add = |(sentence, fault)| Checked { service: description.name, sentence, fault };
            let is_file = !db.is_shared();
            if is_file {
                checked.push(add(("The file is not damaged.", damage(&db).await?)));
            }
            for invariant in description.invariants {
                let count =
                    db.read_long(move |tx| tx.row(invariant.violations, &[], |row| row.get::<i64>(0)));
                let fault = match count.await {
                    Ok(violations) => {
                        violations.filter(|count| *count > 0).map(|count| format!("violations: {count}"))
                    }
                    // A damaged part of a file: the other parts are checked all the same.
                    Err(Error::Unavailable(why)) if is_file => Some(why),
                    Err(error) => return Err(error.into()),
                };
                checked.push(add((invariant.sentence, fault)));
            }
        }
        report(&checked, arguments.json)
    })
}

/// What SQLite finds wrong with the file: the first fault.
async fn damage(db: &Db) -> Result<Option<String>, Error> {
    let found = db.read_long(|tx| {
        let found = tx.row("PRAGMA integrity_check(1)", &[], |row| row.get::<String>(0))?;
        let fault = found.filter(|found| found != "ok");
        if fault.is_some() {
            return Ok(fault);
        }
        let dangling = tx.row("PRAGMA foreign_key_check", &[], |row| row.get::<String>(0))?;
        Ok(dangling.map(|table| format!("a row of {table} refers to a row that is missing")))
    });
    match found.await {
        Err(Error::Unavailable(why)) => Ok(Some(why)),
        found => found,
    }
}

fn report(checked: &[Checked], as_json: bool) -> Result<(), Failure> {
    if as_json {
        let checks: Vec<_> = checked
            .iter()
            .map(|Checked { service, sentence, fault }| {
                json!({"service": service, "check": sentence, "ok": fault.is_none(), "fault": fault})
            })
            .collect();
        print(&format!("{}\n", json!({"checks": checks})))?;
    } else {
        let rows: Vec<_> = checked
            .iter()
            .map(|Checked { service, sentence, fault }| {
                row([service, fault.as_deref().unwrap_or("ok"), sentence])
            })
            .collect();
        print(&table(&rows))?;
    }
    let failed = checked.iter().filter(|check| check.fault.is_some()).count();
    if failed == 0 { Ok(()) } else { Err(Violated(failed, checked.len()).into()) }
}
