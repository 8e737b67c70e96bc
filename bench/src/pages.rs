//! How long a browser takes until a page is usable.

use std::path::Path;

use testkit::Browser;
use tokio::runtime::Runtime;

use crate::{
    compare::{median, sorted},
    program::Program,
    report::Line,
};

/// The pages of each service that a visitor sees first.
const PETSTORE: [&str; 2] = ["/", "/app/orders"];
const TRAIN: [&str; 3] = ["/", "/app/bookings", "/app/webhooks"];
const MUSEUM: [&str; 2] = ["/", "/app/tickets"];

/// An answer of a few bytes: what the browser itself needs.
const SMALLEST: &str = "/healthz";

/// The time in milliseconds until the scripts of the slowest page have run. The pages take turns, so that other load on the machine
/// slows all of them alike. The browser has loaded each of them once before, as that of a visitor who comes again.
pub(crate) fn slowest(runtime: &Runtime, folder: &Path, rounds: usize) -> Line {
    std::fs::create_dir_all(folder).expect("a folder");
    let program = Program::start(folder, &["--data", &folder.join("data").display().to_string()]);
    let urls: Vec<_> =
        [(program.petstore, &PETSTORE[..]), (program.train, &TRAIN), (program.museum, &MUSEUM)]
            .into_iter()
            .flat_map(|(server, paths)| paths.iter().map(move |path| format!("http://{server}{path}")))
            .chain([format!("http://{}{SMALLEST}", program.petstore)])
            .collect();
    let mut medians = runtime.block_on(load(&urls, rounds));
    let smallest = medians.pop().unwrap_or_default();
    let slowest = medians.into_iter().fold(0.0, f64::max);
    program.stop();
    let values = format!("{SMALLEST} {smallest:.0} ms");
    Line { values, ..Line::at_most("the slowest page is usable", slowest, " ms", (100.0, 50.0)) }
}

/// The median of the times of each URL.
async fn load(urls: &[String], rounds: usize) -> Vec<f64> {
    let browser = Browser::start_with(&[]).await;
    let mut times = vec![Vec::new(); urls.len()];
    for round in 0..=rounds {
        for (url, times) in urls.iter().zip(&mut times) {
            browser.go(url).await;
            let ended = browser
                .run("return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
                .await;
            if round > 0 {
                times.push(ended.as_f64().expect("a time"));
            }
        }
    }
    times.into_iter().map(|times| median(&sorted(times.into_iter()))).collect()
}
