//! The names of sandboxes.

use std::{fmt, sync::Arc};

/// The longest name in characters.
pub(crate) const LONGEST: usize = 32;

/// The names of templates begin with this.
pub(crate) const TEMPLATE: &str = "template";

/// The name of a sandbox: lower-case letters, digits and dashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    /// The name, if it is valid.
    pub fn new(text: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let valid = (1..=LONGEST).contains(&text.len())
            && text.bytes().all(allowed)
            && !text.starts_with('-')
            && !text.ends_with('-')
            && !text.starts_with(TEMPLATE);
        valid.then(|| Name(text.into()))
    }

    /// The name of the root services, which have no name.
    pub fn root() -> Self {
        Name("".into())
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path in front of all paths of the sandbox; empty at the root.
    pub fn path(&self) -> String {
        if self.is_root() { String::new() } else { format!("/sandbox/{self}") }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_lower_case_letters_digits_and_dashes() {
        for valid in ["a", "7", "ada", "ada-2", "monday-07", "a--b", &"x".repeat(LONGEST)] {
            assert!(Name::new(valid).is_some(), "{valid}");
        }
        let long = "x".repeat(LONGEST + 1);
        for invalid in [
            "",
            "-a",
            "a-",
            "-",
            "Ada",
            "a_b",
            "a.b",
            "a/b",
            "..",
            "ä",
            "a b",
            "template",
            "template-1",
            &long,
        ] {
            assert!(Name::new(invalid).is_none(), "{invalid}");
        }
    }
}
