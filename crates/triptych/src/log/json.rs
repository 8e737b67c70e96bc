//! Log lines in JSON: one object per line, its members in the order in which they were recorded.

use std::{
    cell::RefCell,
    fmt::{self, Debug, Write},
};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

use super::{acts, timestamp};

/// Writes a line into the buffer of its thread, and from there in one piece.
pub(super) struct JsonLines;

thread_local! {
    static LINE: RefCell<String> = RefCell::default();
}

/// Above this, the buffer of a thread is not kept for the next line.
const KEPT: usize = 64 * 1024;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        // A value whose `Debug` logs an event needs a second buffer.
        let mut line = LINE.with(RefCell::take);
        line.clear();
        write_line(&mut line, event)?;
        writer.write_str(&line)?;
        if line.capacity() <= KEPT {
            LINE.set(line);
        }
        Ok(())
    }
}

fn write_line(line: &mut String, event: &Event<'_>) -> fmt::Result {
    let metadata = event.metadata();
    line.push_str("{\"timestamp\":\"");
    timestamp::write_now(line)?;
    line.push_str("\",\"level\":\"");
    line.push_str(metadata.level().as_str());
    line.push('"');
    let mut members = Members { line, result: Ok(()) };
    event.record(&mut members);
    members.result?;
    line.push_str(",\"target\":\"");
    Escaped(line).write_str(metadata.target())?;
    line.push_str("\"}\n");
    Ok(())
}

/// The members of an event.
struct Members<'l> {
    line: &'l mut String,
    result: fmt::Result,
}

impl Members<'_> {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        self.write(field, |line| line.write_fmt(value));
    }

    /// Writes a value that is text.
    fn add_text(&mut self, field: &Field, value: impl FnOnce(&mut Escaped<'_>) -> fmt::Result) {
        self.write(field, |line| {
            line.push('"');
            value(&mut Escaped(line))?;
            line.push('"');
            Ok(())
        });
    }

    fn write(&mut self, field: &Field, value: impl FnOnce(&mut String) -> fmt::Result) {
        if self.result.is_ok() {
            // Names are identifiers.
            self.line.push_str(",\"");
            self.line.push_str(field.name());
            self.line.push_str("\":");
            self.result = value(self.line);
        }
    }
}

impl Visit for Members<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add_text(field, |line| line.write_str(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add_text(field, |line| write!(line, "{value:?}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, format_args!("{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, format_args!("{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, format_args!("{value}"));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        match value.is_finite() {
            // With a fraction, as a reader of JSON expects of this member.
            true => self.write(field, |line| write_number(line, value)),
            false => self.add(field, format_args!("null")),
        }
    }
}

/// Writes a number with its shortest fraction. Most are times in milliseconds with at most three digits after the point, which
/// integers give in a fraction of the time.
fn write_number(line: &mut impl Write, value: f64) -> fmt::Result {
    let thousandths = (value * 1000.0).round();
    // The shortest text of a number with at most 15 digits is the text that it was read from.
    if !(0.0..1e12).contains(&thousandths) || thousandths / 1000.0 != value || value.is_sign_negative() {
        return write!(line, "{value:?}");
    }
    let thousandths = thousandths as u64;
    let (whole, mut fraction, mut digits) = (thousandths / 1000, thousandths % 1000, 3);
    while digits > 1 && fraction.is_multiple_of(10) {
        (fraction, digits) = (fraction / 10, digits - 1);
    }
    write!(line, "{whole}.{fraction:0digits$}")
}

/// Whether a byte is a character that a JSON string and a terminal take as it is.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

/// The inside of a JSON string, in which no character acts on a terminal.
struct Escaped<'l>(&'l mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Nearly all text is plain. Without an early end, the compiler checks many bytes at a time.
        if text.bytes().fold(true, |plain, byte| plain & is_plain(byte)) {
            self.0.push_str(text);
            return Ok(());
        }
        let mut plain = 0;
        for (at, c) in text.char_indices().filter(|(_, c)| matches!(c, '"' | '\\') || acts(*c)) {
            self.0.write_str(&text[plain..at])?;
            match c {
                '"' | '\\' => {
                    self.0.write_char('\\')?;
                    self.0.write_char(c)?;
                }
                '\n' => self.0.write_str("\\n")?,
                '\r' => self.0.write_str("\\r")?,
                '\t' => self.0.write_str("\\t")?,
                c => write!(self.0, "\\u{:04x}", u32::from(c))?,
            }
            plain = at + c.len_utf8();
        }
        self.0.write_str(&text[plain..])
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use serde_json::{Value, json};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The line of an event.
    fn line(event: impl FnOnce()) -> String {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let log = tracing_subscriber::fmt().event_format(JsonLines).with_writer(move || writer.clone());
        tracing::subscriber::with_default(log.finish(), event);
        String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn json_keeps_its_meaning_and_has_no_character_that_acts() {
        let text = "/a\u{85}\u{202e}\u{2028}\n\r\t\u{8} \"quoted\" \\ é 東";
        let line = line(|| tracing::info!(text, debug = ?text, "{text}"));
        let (object, end) = line.split_at(line.len() - 1);
        assert_eq!(end, "\n");
        assert!(!object.chars().any(acts), "{object}");
        let read: Value = serde_json::from_str(object).unwrap();
        assert_eq!((&read["text"], &read["message"]), (&json!(text), &json!(text)));
        assert_eq!(read["debug"], json!(format!("{text:?}")));
    }

    #[test]
    fn number_has_its_shortest_text() {
        let thousandths = (0_i64..20_000).chain([999_999, 1_000_000, 123_456_789, 999_999_999_999]);
        let others = [-0.0, -1.5, 0.0001, 1.2345, 1e9, 1e16, 1e300, 5e-324, 0.1 + 0.2];
        for value in thousandths.map(|number| number as f64 / 1000.0).chain(others) {
            let mut text = String::new();
            write_number(&mut text, value).unwrap();
            assert_eq!(text, format!("{value:?}"));
        }
    }

    #[test]
    fn members_have_their_types_and_order() {
        let absent: Option<&str> = None;
        let line = line(|| {
            tracing::warn!(target: "test", count = 3_u64, change = -2_i64, ms = 1.0, bad = f64::NAN, ok = true, absent, "done");
        });
        let (_, rest) = line.split_once("\",").unwrap();
        assert_eq!(
            rest,
            "\"level\":\"WARN\",\"message\":\"done\",\"count\":3,\"change\":-2,\"ms\":1.0,\"bad\":null,\"ok\":true,\"target\":\"test\"}\n"
        );
    }
}
