//! The setting `log`.

/// Whether this is a level, or levels by part. Another word would be taken for the name of a part, which logs nothing.
pub(super) fn is_log_filter(text: &str) -> bool {
    const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
    let is_part = |part: &str| {
        let valid = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':' | '-');
        !part.is_empty() && part.chars().all(valid)
    };
    text.split(',').all(|one| match one.trim().split_once('=') {
        None => LEVELS.contains(&one.trim()),
        Some((part, level)) => is_part(part) && LEVELS.contains(&level),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_log_filter_is_detected() {
        for valid in ["info", "off", "warn,museum=debug", "warn, identity::oauth=trace"] {
            assert!(is_log_filter(valid), "{valid}");
        }
        for invalid in
            ["", "chatty", "museum=loud", "info,", "museum", "=info", "[span]=info", "museum=info=warn"]
        {
            assert!(!is_log_filter(invalid), "{invalid}");
        }
    }
}
