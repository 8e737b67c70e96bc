//! The time of a log line. Many lines are written in a second, so each thread keeps the text of the last second.

use std::{
    cell::RefCell,
    fmt::{self, Write},
};

use jiff::Timestamp;

/// A second and its text, as in `2026-05-04T10:20:30`.
#[derive(Default)]
struct Second {
    number: Option<i64>,
    text: String,
}

thread_local! {
    static LAST: RefCell<Second> = RefCell::default();
}

/// Writes the time of the machine in UTC, with microseconds.
pub(super) fn write_now(line: &mut impl Write) -> fmt::Result {
    #[expect(
        clippy::disallowed_methods,
        reason = "lines have the time of the machine, also where a service has another"
    )]
    write(line, Timestamp::now())
}

fn write(line: &mut impl Write, time: Timestamp) -> fmt::Result {
    // Both parts of a time before 1970 are negative. No log has one.
    let (number, micros) = (time.as_second(), time.subsec_nanosecond().unsigned_abs() / 1000);
    LAST.with_borrow_mut(|last| {
        if last.number != Some(number) {
            let text = Timestamp::from_second(number).unwrap_or_default().to_string();
            *last = Second { number: Some(number), text: text.trim_end_matches('Z').to_owned() };
        }
        line.write_str(&last.text)
    })?;
    let mut fraction = *b".000000Z";
    let mut rest = micros;
    for digit in fraction[1..7].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    line.write_str(std::str::from_utf8(&fraction).map_err(|_| fmt::Error)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_microseconds() {
        for (time, expected) in [
            ("2026-05-04T10:20:30Z", "2026-05-04T10:20:30.000000Z"),
            ("2026-05-04T10:20:30.000001999Z", "2026-05-04T10:20:30.000001Z"),
            ("2026-05-04T10:20:31.25Z", "2026-05-04T10:20:31.250000Z"),
            ("2026-12-31T23:59:59.999999999Z", "2026-12-31T23:59:59.999999Z"),
        ] {
            let mut text = String::new();
            write(&mut text, time.parse().unwrap()).unwrap();
            assert_eq!(text, expected);
        }
    }
}
