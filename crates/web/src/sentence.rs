//! Small help with the sentences that clients read.

/// `a`, `a or b`, `a, b or c`.
pub(crate) fn any_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Text of a client, shortened for messages.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}
