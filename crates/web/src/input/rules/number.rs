//! Rules for numbers.

use std::{
    fmt::Display,
    marker::PhantomData,
    ops::{Bound, RangeBounds, RangeInclusive},
};

use rust_decimal::Decimal;
use serde_json::{Number, Value};
use utoipa::{
    PartialSchema,
    openapi::{
        RefOr,
        schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type},
    },
};

use super::super::{
    field::{Field, RawValue},
    rule::{Describe, HasRule, HasSchema, Rule},
};

/// A type of whole numbers.
pub trait WholeNumber: Copy + Into<i64> + TryFrom<i64> + PartialSchema {
    const LEAST: i64;
    const MOST: i64;
}

impl WholeNumber for i64 {
    const LEAST: i64 = i64::MIN;
    const MOST: i64 = i64::MAX;
}

impl WholeNumber for i32 {
    const LEAST: i64 = i32::MIN as i64;
    const MOST: i64 = i32::MAX as i64;
}

impl WholeNumber for u16 {
    const LEAST: i64 = 0;
    const MOST: i64 = u16::MAX as i64;
}

/// A whole number in a range.
pub fn integer<T: WholeNumber>(range: impl RangeBounds<T>) -> Integer<T> {
    let least = match range.start_bound() {
        Bound::Included(least) => Some((*least).into()),
        Bound::Excluded(least) => Some((*least).into() + 1),
        Bound::Unbounded => None,
    };
    let most = match range.end_bound() {
        Bound::Included(most) => Some((*most).into()),
        Bound::Excluded(most) => Some((*most).into() - 1),
        Bound::Unbounded => None,
    };
    Integer { least, most, whole: PhantomData }
}

pub struct Integer<T> {
    least: Option<i64>,
    most: Option<i64>,
    whole: PhantomData<T>,
}

impl<T: WholeNumber> Describe for Integer<T> {
    fn schema(&self) -> RefOr<Schema> {
        let mut schema = T::schema();
        if let RefOr::T(Schema::Object(number)) = &mut schema {
            let bound = |bound: i64| utoipa::Number::Int(bound as isize);
            number.minimum = self.least.map(bound);
            number.maximum = self.most.map(bound);
        }
        schema
    }
}

impl<T: WholeNumber> Rule for Integer<T> {
    type Value = T;

    fn read(&self, field: &mut Field<'_>) -> Option<T> {
        let (least, most) = (self.least.unwrap_or(T::LEAST), self.most.unwrap_or(T::MOST));
        let wanted = || match most {
            i64::MAX => format!("must be a whole number, {least} or more"),
            most => format!("must be a whole number from {least} to {most}"),
        };
        let number = match field.raw {
            RawValue::Json(Value::Number(number)) => integral(number),
            RawValue::Json(_) => field.text_value().and_then(whole),
            _ => whole(field.word(wanted())?),
        };
        let number = number.filter(|number| (least..=most).contains(number));
        match number.and_then(|number| T::try_from(number).ok()) {
            Some(number) => Some(number),
            None => field.fail(wanted()),
        }
    }
}

/// The number of a page, from 1.
pub fn page() -> Integer<i64> {
    integer(1..)
}

/// How many items a page has.
pub fn limit(most: i64) -> Integer<i64> {
    integer(1..=most)
}

impl HasRule for i32 {
    fn rule() -> impl Rule<Value = Self> {
        integer(..)
    }
}

impl HasSchema for i32 {
    fn description() -> impl Describe {
        integer::<i32>(..)
    }
}

/// An id: any whole number of 64 bits. Any other value makes the body malformed.
pub fn id() -> Id {
    Id
}

pub struct Id;

impl Describe for Id {
    fn schema(&self) -> RefOr<Schema> {
        i64::schema()
    }
}

impl Rule for Id {
    type Value = i64;

    fn read(&self, field: &mut Field<'_>) -> Option<i64> {
        let number = match field.raw {
            RawValue::Json(Value::Number(number)) => integral(number),
            RawValue::Json(_) => field.text_value().and_then(whole),
            _ => match field.word(NOT_AN_ID) {
                Some(word) => whole(word),
                None => {
                    field.validation.malformed = true;
                    return None;
                }
            },
        };
        match number {
            Some(number) => Some(number),
            None => field.malformed(NOT_AN_ID),
        }
    }
}

impl HasRule for i64 {
    fn rule() -> impl Rule<Value = Self> {
        id()
    }
}

impl HasSchema for i64 {
    fn description() -> impl Describe {
        id()
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

/// The value of a JSON number without a fractional part in any notation: by JSON Schema `4.0` and `4e0` are integers. It is
/// computed from the digits, so that rounding does not turn a fraction into an integer.
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
    // The number of zeros after the significant digits; a negative number means a fraction.
    let shift = i64::try_from(digits.len() - significant.len()).ok()? - i64::try_from(fraction.len()).ok()?;
    let zeros = usize::try_from(exponent.parse::<i64>().ok()?.checked_add(shift)?).ok()?;
    // An i64 has at most 19 digits.
    if zeros > 18 {
        return None;
    }
    format!("{sign}{significant}{}", "0".repeat(zeros)).parse().ok()
}

/// A decimal number of at most 28 digits, kept digit for digit: `25.50` stays `25.50`.
pub fn decimal(range: RangeInclusive<Decimal>) -> Decimals {
    Decimals { range, format: KnownFormat::Double }
}

pub struct Decimals {
    range: RangeInclusive<Decimal>,
    format: KnownFormat,
}

impl Decimals {
    /// The same, described as a `float`.
    #[must_use]
    pub fn float(self) -> Self {
        Decimals { format: KnownFormat::Float, ..self }
    }
}

impl Describe for Decimals {
    fn schema(&self) -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Number);
        let number = number.format(Some(SchemaFormat::KnownFormat(self.format.clone())));
        number.minimum(Some(bound(self.range.start()))).maximum(Some(bound(self.range.end()))).into()
    }
}

impl Rule for Decimals {
    type Value = Decimal;

    fn read(&self, field: &mut Field<'_>) -> Option<Decimal> {
        const DIGITS: &str = "must be a decimal number of at most 28 digits";
        let literal = match field.raw {
            RawValue::Json(Value::Number(number)) => number.as_str(),
            RawValue::Json(_) => return field.fail("must be a number"),
            _ => {
                let text = field.word(DIGITS)?;
                // Only the notation of JSON: the library also accepts a plus sign, underscores and a bare point.
                if text.parse::<Number>().is_err() {
                    return field.fail(DIGITS);
                }
                text
            }
        };
        let parsed = match literal.split_once(['e', 'E']) {
            // The parser for exponents rounds extra digits, which must be rejected instead.
            Some((digits, _)) => {
                Decimal::from_str_exact(digits).and_then(|_| Decimal::from_scientific(literal))
            }
            None => Decimal::from_str_exact(literal),
        };
        let (least, most) = (self.range.start(), self.range.end());
        match parsed {
            // JSON has a negative zero, which equals zero.
            Ok(number) if number.is_zero() && self.range.contains(&number) => Some(number.abs()),
            Ok(number) if self.range.contains(&number) => Some(number),
            Ok(_) if most == &Decimal::MAX => field.fail(format!("must be a number, {least} or more")),
            Ok(_) => field.fail(format!("must be a number from {least} to {most}")),
            Err(_) => field.fail(DIGITS),
        }
    }
}

/// A bound in the form of a schema.
fn bound(bound: &(impl Display + Clone)) -> utoipa::Number {
    let text = bound.to_string();
    text.parse::<isize>()
        .map(utoipa::Number::Int)
        .unwrap_or_else(|_| utoipa::Number::Float(text.parse().unwrap_or(f64::MAX)))
}

/// The description of a floating-point number in a range, for answers.
pub fn number(range: RangeInclusive<f64>) -> Fraction {
    Fraction(range)
}

pub struct Fraction(RangeInclusive<f64>);

impl Describe for Fraction {
    fn schema(&self) -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Number);
        let number = number.format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)));
        number.minimum(Some(bound(self.0.start()))).maximum(Some(bound(self.0.end()))).into()
    }
}
