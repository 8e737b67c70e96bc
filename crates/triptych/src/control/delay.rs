//! A delay on the command line.

use serde_json::{Value, json};

/// A delay: `200`, or `100..900` for any in this range.
pub(super) fn delay(text: &str) -> Result<Value, String> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| "must be like 200 or 100..900".to_owned());
    match text.split_once("..") {
        Some((from, to)) => Ok(json!({"from": number(from)?, "to": number(to)?})),
        None => Ok(json!(number(text)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_is_a_number_or_a_range() {
        assert_eq!(delay("200"), Ok(json!(200)));
        assert_eq!(delay("100..900"), Ok(json!({"from": 100, "to": 900})));
        for wrong in ["", "soon", "1..", "..2", "-1", "1.5"] {
            assert!(delay(wrong).is_err(), "{wrong}");
        }
    }
}
