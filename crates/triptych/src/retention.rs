//! Old data: `triptych prune` deletes it once, and the settings `retention` every hour.

use std::time::Duration;

use clap::Args;
use db::Db;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use serde_json::json;
use service::{Description, Pruning};
use web::Clock;

use crate::{
    Failure, control,
    open::open_existing,
    print,
    settings::{Retention, Settings},
    table::{row, table},
};

/// How often old data is deleted.
const EVERY: Duration = Duration::from_secs(3600);

#[derive(Args)]
pub(crate) struct PruneArguments {
    /// What to delete; everything that has an age if nothing is named
    #[arg(value_parser = crate::service_names::prunings())]
    what: Vec<String>,
    /// Delete what is from before this day, as in 2026-01-31
    #[arg(long, value_name = "DATE")]
    before: Date,
    /// Only count it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn prune(arguments: &PruneArguments, settings: &Settings) -> Result<(), Failure> {
    let PruneArguments { what, before, dry_run, json } = arguments;
    if *before > day(Clock::system().now()) {
        return Err(format!("--before {before} is in the future: name today or a day before").into());
    }
    let is_named = |pruning: &Pruning| what.is_empty() || what.iter().any(|name| name == pruning.name);
    control::block_on(async {
        let mut pruned = Vec::new();
        for service in settings.services() {
            let prunings: Vec<_> =
                service.description().prunings.iter().filter(|pruning| is_named(pruning)).collect();
            if prunings.is_empty() {
                continue;
            }
            let db = open_existing(service, settings).await?.db;
            for pruning in prunings {
                let count = pruning.count(&db, *before).await?;
                if !dry_run {
                    pruning.delete(&db, *before).await?;
                }
                pruned.push((pruning, count));
            }
        }
        report(&pruned, *dry_run, *json)
    })
}

fn report(pruned: &[(&Pruning, i64)], dry_run: bool, as_json: bool) -> Result<(), Failure> {
    if as_json {
        let pruned: Vec<_> =
            pruned.iter().map(|(pruning, count)| json!({"what": pruning.name, "count": count})).collect();
        return print(&format!("{}\n", json!({"deleted": !dry_run, "pruned": pruned})));
    }
    let done = if dry_run { "to delete" } else { "deleted" };
    let rows: Vec<_> = pruned
        .iter()
        .map(|(pruning, count)| row([pruning.name, &format!("{count} {done}"), pruning.about]))
        .collect();
    print(&table(&rows))
}

/// Whether anything of a service is deleted by its age.
pub(crate) fn applies_to(service: &Description, retention: &Retention) -> bool {
    service.prunings.iter().any(|pruning| retention.days(pruning.name).is_some())
}

/// Deletes the old data of a service every hour.
pub(crate) async fn keep(service: &'static Description, db: Db, clock: Clock, retention: Retention) {
    let mut every = tokio::time::interval(EVERY);
    loop {
        every.tick().await;
        for pruning in service.prunings {
            let Some(days) = retention.days(pruning.name) else { continue };
            let before = day(clock.now()).saturating_sub(i64::from(days).days());
            let pruned = async {
                let count = pruning.count(&db, before).await?;
                pruning.delete(&db, before).await?;
                Ok::<_, db::Error>(count)
            };
            match pruned.await {
                Ok(0) => {}
                Ok(count) => {
                    tracing::info!(service = service.name, what = pruning.name, count, %before, "old data deleted");
                }
                Err(error) => {
                    tracing::warn!(service = service.name, what = pruning.name, %error, "old data could not be deleted");
                }
            }
        }
    }
}

fn day(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date()
}
