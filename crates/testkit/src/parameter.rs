//! Numbers that the environment sets for long test runs.

use std::{fmt::Debug, str::FromStr};

/// The value of this environment variable, or the usual one: `make long-test` runs the same tests with more rounds.
pub fn parameter<T: FromStr<Err: Debug>>(name: &str, usual: T) -> T {
    #[expect(clippy::disallowed_methods, reason = "a parameter of the tests, no setting of the program")]
    let value = std::env::var(name);
    value.map_or(usual, |value| value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}
