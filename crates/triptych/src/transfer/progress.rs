//! A line on a terminal that shows how far a command is. There is none where standard error is not a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often it is drawn.
const INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn start() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}: {human_pos} rows, {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(INTERVAL);
        Progress(bar)
    }

    pub(super) fn says(&self, what: String) {
        self.0.set_message(what);
    }

    pub(super) fn row(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
