//! The clock of one process, which can be stepped while it runs.

use std::{fs::File, os::unix::fs::FileExt};

use jiff::{Timestamp, fmt::rfc2822};
use testkit::Client;

use crate::{installation::Installation, load::BASIC};

/// The file that the library reads with which the process is loaded.
pub(super) struct Clock(File);

impl Clock {
    /// The clock of a process that is not started yet.
    pub(super) fn of(process: &mut Installation, number: usize) -> Self {
        let path = process.folder.join(format!("clock-{number}"));
        let clock = Clock(File::create(&path).expect("a file"));
        clock.step(0);
        process.set("CLOCK_STEP", path);
        clock
    }

    /// Sets how many seconds it is ahead of the machine's clock.
    pub(super) fn step(&self, seconds: i64) {
        self.0.write_all_at(&seconds.to_ne_bytes(), 0).expect("the file of the clock");
    }
}

/// How many seconds the clock of a service is ahead: answers with bookings have its time.
pub(super) async fn ahead(train: &Client) -> Option<i64> {
    let answer = train.get("/bookings?limit=1").header("authorization", BASIC).try_send().await.ok()?;
    let date = rfc2822::DateTimeParser::new().parse_timestamp(answer.header("date")).ok()?;
    #[expect(clippy::disallowed_methods, reason = "the clock of the machine is the one to compare with")]
    let now = Timestamp::now();
    Some(date.duration_since(now).as_secs())
}
