//! Small help with the sentences that clients read.

/// `a`, `a or b`, `a, b or c`.
pub(crate) fn any_of(words: &[&str]) -> String {
    joined(words, "or")
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn all_of(words: &[&str]) -> String {
    joined(words, "and")
}

fn joined(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

/// Text of a client, shortened for messages.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}
