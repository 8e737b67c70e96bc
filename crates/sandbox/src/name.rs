//! The names of sandboxes.

use std::{borrow::Borrow, fmt, sync::Arc};

use web::input::rules::{Rule, text};

/// The longest name in characters.
pub(crate) const LONGEST: usize = 32;

/// The names of templates begin with this.
pub(crate) const TEMPLATE: &str = "template";

/// Where the controls of a sandbox are, below its path.
pub(crate) const CONTROL: &str = "/_control";

/// The name of a sandbox: lower-case letters, digits and dashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    /// The name, if it is valid.
    pub fn new(text: &str) -> Option<Self> {
        let valid = db::is_name(text) && !text.starts_with(TEMPLATE);
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

/// The name of a sandbox, a class or a snapshot as a client sends it.
pub(crate) fn rule() -> impl Rule<Value = String> {
    text(1..=LONGEST).pattern("^[a-z0-9]([a-z0-9-]*[a-z0-9])?$").then(|field, name: String| {
        if db::is_name(&name) {
            Some(name)
        } else {
            field.fail("must be 1 to 32 lower-case letters, digits and dashes, without a dash at either end")
        }
    })
}

/// A set of names is searched by a text.
impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
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
