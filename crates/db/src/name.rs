//! Names that are made at run time: of groups, of databases and of copies of tables.

use crate::error::OpenError;

/// The longest name of a group or of a copy.
const LONGEST: usize = 32;

/// The longest name of a database, so that a schema's name has at most the 63 bytes that PostgreSQL allows.
const LONGEST_DATABASE: usize = 20;

/// Whether this can be the name of a group of databases or of a copy: 1 to 32 lower-case letters, digits and dashes, with no
/// dash at either end.
pub fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST).contains(&name.len())
        && name.bytes().all(allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

pub(crate) fn check_group(name: &str) -> Result<(), OpenError> {
    if is_name(name) {
        return Ok(());
    }
    Err(OpenError::new(&format!("the name of a group of databases, {name:?}, {RULE}")))
}

pub(crate) const RULE: &str =
    "is not 1 to 32 lower-case letters, digits and dashes, with no dash at either end";

/// The name of a database is part of a file's name, and of a statement's text. It has no underscore, which separates it from the
/// name of its group.
pub(crate) fn check_database(name: &str) -> Result<(), OpenError> {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let rest = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if first && rest && name.len() <= LONGEST_DATABASE {
        return Ok(());
    }
    Err(OpenError::new(&format!(
        "the name of a database, {name:?}, is not 1 to 20 lower-case letters and digits, of which the first is a letter"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_has_lower_case_letters_digits_and_inner_dashes() {
        for name in ["a", "7", "ada", "test-run-12", &"a".repeat(32)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-", "-a", "a-", "Ada", "a_b", "a.b", "a/b", "..", "é", "a b", &"a".repeat(33)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn database_has_lower_case_letters_and_digits() {
        for name in ["a", "petstore", "v2"] {
            check_database(name).unwrap();
        }
        for name in ["", "2v", "a-b", "a_b", "A", "a;b", &"a".repeat(21)] {
            check_database(name).unwrap_err();
        }
    }
}
