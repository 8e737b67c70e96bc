//! The log of a test program. All its tests share one log, and each finds its lines by their content.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock},
};

use serde_json::Value;
use tracing_subscriber::filter::LevelFilter;

/// The lines that were logged since the first call of [`Log::start`].
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Records lines from now on, with the default filter of the program.
    pub fn start() -> &'static Log {
        Log::start_at(LevelFilter::INFO)
    }

    /// Records all lines, also those of libraries, for tests that no line has a secret.
    pub fn start_with_everything() -> &'static Log {
        Log::start_at(LevelFilter::TRACE)
    }

    fn start_at(level: LevelFilter) -> &'static Log {
        static LOG: OnceLock<Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let log = Log::default();
            let writer = log.clone();
            tracing_subscriber::fmt().json().with_max_level(level).with_writer(move || writer.clone()).init();
            log
        })
    }

    /// The lines about the request with this id.
    pub fn about(&self, id: &str) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["fields"]["id"] == id).collect()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// The lines of the security log in which a field has this value, without their times.
    pub fn security(&self, field: &str, value: &str) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let about = lines.filter(|line| line["target"] == "security" && line["fields"][field] == value);
        about
            .map(|mut line| {
                line.as_object_mut().unwrap().remove("timestamp");
                line
            })
            .collect()
    }
}
