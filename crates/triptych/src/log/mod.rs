//! The log: text on a terminal, else JSON, on standard error.

mod json;
mod lines;
mod timestamp;

use std::io::{self, IsTerminal, Write, stderr};

use tracing_subscriber::{EnvFilter, fmt};

pub(crate) use lines::Flush;
use lines::Lines;

use crate::{
    Failure,
    settings::{LogFormat, Settings},
};

/// Starts the log. It is complete when the result is dropped.
pub(crate) fn start(settings: &Settings) -> Result<Option<Flush>, Failure> {
    let filter = EnvFilter::try_new(filter(&settings.log))
        .map_err(|error| format!("the setting log is not valid: {error}"))?;
    let text = match settings.log_format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => stderr().is_terminal(),
    };
    let colours = text && stderr().is_terminal();
    let log = fmt().with_env_filter(filter);
    if text {
        let plain = move || Plain { to: stderr(), colours };
        log.with_writer(plain).with_target(false).with_ansi(colours).init();
        return Ok(None);
    }
    let (lines, flush) = Lines::start()?;
    log.with_writer(lines).event_format(json::JsonLines).init();
    Ok(Some(flush))
}

/// The filter of the log. The security log has its own level, and does not depend on the filter.
fn filter(log: &str) -> String {
    let named = log.split(',').any(|part| part.trim().starts_with("security"));
    if named { log.to_owned() } else { format!("{log},security=info") }
}

/// Writes lines without the characters that act on a terminal or change how the text around them is shown. Clients choose
/// parts of many lines; neither format of the log escapes all of these.
struct Plain<W> {
    to: W,
    /// Whether the lines are coloured: the program itself then writes escape characters.
    colours: bool,
}

impl<W: Write> Write for Plain<W> {
    /// Gets a whole line each time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.to.write_all(escaped(&String::from_utf8_lossy(line), self.colours).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The line with such characters as `\u0085`, which in JSON is the same character.
fn escaped(line: &str, colours: bool) -> String {
    let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
    let mut escaped = String::with_capacity(line.len());
    for c in text.chars() {
        if acts(c) && !(colours && c == '\x1b') {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped + end
}

/// Control characters, and invisible ones: writing direction, zero width, line separators.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_events_are_logged_at_any_level() {
        assert_eq!(filter("error"), "error,security=info");
        assert_eq!(filter("warn,museum=debug"), "warn,museum=debug,security=info");
        assert_eq!(filter("info, security=off"), "info, security=off");
    }

    #[test]
    fn control_characters_are_escaped() {
        let line = "a\u{85}b\u{9b}31mc\u{202e}d\u{2066}e\u{200f}f\x07g\x1b[1mh\ni\u{2028}é 東\n";
        let expected = r"a\u0085b\u009b31mc\u202ed\u2066e\u200ff\u0007g\u001b[1mh\u000ai\u2028é 東";
        assert_eq!(escaped(line, false), format!("{expected}\n"));
        assert_eq!(escaped("\x1b[32m INFO\x1b[0m a\u{85}\n", true), "\x1b[32m INFO\x1b[0m a\\u0085\n");
    }
}
