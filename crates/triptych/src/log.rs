//! The log: readable on a terminal, JSON elsewhere, on standard error.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::{EnvFilter, fmt};

use crate::{
    Failure,
    settings::{LogFormat, Settings},
};

pub(crate) fn start(settings: &Settings) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&settings.log)
        .map_err(|error| format!("the setting log is not valid: {error}"))?;
    let text = match settings.log_format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => stderr().is_terminal(),
    };
    let log = fmt().with_env_filter(filter).with_writer(stderr);
    if text {
        log.with_target(false).with_ansi(stderr().is_terminal()).init();
    } else {
        log.json().flatten_event(true).with_current_span(false).init();
    }
    Ok(())
}
