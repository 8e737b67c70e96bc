//! Rules for numbers.

use std::ops::RangeInclusive;

use rust_decimal::Decimal;
use serde_json::{Number, Value};

use super::super::{Field, field::Given};

/// A whole number in a range.
pub fn integer(range: RangeInclusive<i64>) -> impl Fn(&mut Field<'_>) -> Option<i64> {
    move |field| {
        let wanted = || match *range.end() {
            i64::MAX => format!("must be a whole number, {} or more", range.start()),
            end => format!("must be a whole number from {} to {end}", range.start()),
        };
        let number = match field.given {
            Given::Json(Value::Number(number)) => integral(number),
            Given::Json(_) => None,
            _ => whole(field.word(wanted())?),
        };
        match number.filter(|number| range.contains(number)) {
            Some(number) => Some(number),
            None => field.fail(wanted()),
        }
    }
}

/// An id: any whole number of 64 bits. What is none cannot name anything, and so is malformed rather than broken.
pub fn id(field: &mut Field<'_>) -> Option<i64> {
    let number = match field.given {
        Given::Json(Value::Number(number)) => integral(number),
        Given::Json(_) => None,
        _ => match field.word(NOT_AN_ID) {
            Some(word) => whole(word),
            None => {
                field.faults.malformed = true;
                return None;
            }
        },
    };
    match number {
        Some(number) => Some(number),
        None => field.malformed(NOT_AN_ID),
    }
}

pub(in super::super) const NOT_AN_ID: &str =
    "must be a whole number from -9223372036854775808 to 9223372036854775807";

/// Digits with an optional minus sign: no plus, no blanks.
pub(in super::super) fn whole(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// A JSON number without a fractional part, however it is written: JSON Schema counts `4.0` and `4e0` as integers. It is computed
/// from the digits, so that no rounding makes an integer of what is none.
fn integral(number: &Number) -> Option<i64> {
    if let Some(integer) = number.as_i64() {
        return Some(integer);
    }
    let text = number.as_str();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // How many zeros follow the significant digits; fewer than none is a fraction.
    let shift = i64::try_from(digits.len() - significant.len()).ok()? - i64::try_from(fraction.len()).ok()?;
    let zeros = usize::try_from(exponent.parse::<i64>().ok()?.checked_add(shift)?).ok()?;
    // The largest has 19 digits.
    if zeros > 18 {
        return None;
    }
    format!("{sign}{significant}{}", "0".repeat(zeros)).parse().ok()
}

/// A decimal number of at most 28 digits, kept digit for digit: `25.50` stays `25.50`.
pub fn decimal(range: RangeInclusive<Decimal>) -> impl Fn(&mut Field<'_>) -> Option<Decimal> {
    move |field| {
        const DIGITS: &str = "must be a decimal number of at most 28 digits";
        let literal = match field.given {
            Given::Json(Value::Number(number)) => number.as_str(),
            Given::Json(_) => return field.fail("must be a number"),
            _ => {
                let text = field.word(DIGITS)?;
                // As JSON would write it: the library would also take a plus, underscores, a bare point.
                if text.parse::<Number>().is_err() {
                    return field.fail(DIGITS);
                }
                text
            }
        };
        let parsed = match literal.split_once(['e', 'E']) {
            // The exponent's reader rounds digits that are too many, where they are to be refused.
            Some((digits, _)) => {
                Decimal::from_str_exact(digits).and_then(|_| Decimal::from_scientific(literal))
            }
            None => Decimal::from_str_exact(literal),
        };
        match parsed {
            // JSON has a zero with a minus sign; nobody means it.
            Ok(number) if number.is_zero() && range.contains(&number) => Some(number.abs()),
            Ok(number) if range.contains(&number) => Some(number),
            Ok(_) if range.end() == &Decimal::MAX => {
                field.fail(format!("must be a number, {} or more", range.start()))
            }
            Ok(_) => field.fail(format!("must be a number from {} to {}", range.start(), range.end())),
            Err(_) => field.fail(DIGITS),
        }
    }
}
