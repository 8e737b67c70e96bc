//! Patterns of paths, such as `/v3/pet/*` and `/bookings/**`.

use web::input::rules::{Rule, text};

/// The longest path that is compared with a pattern, in bytes; no pattern matches a longer one. It bounds the time of a comparison.
const LONGEST_PATH: usize = 2048;

/// A pattern of paths: `*` is any part of a segment, and a segment `**` is any number of segments, also none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Any,
    Pattern(Box<str>),
}

impl Glob {
    pub(crate) fn new(pattern: &str) -> Self {
        let segment = |text: &str| if text == "**" { Segment::Any } else { Segment::Pattern(text.into()) };
        Glob(pattern.split('/').map(segment).collect())
    }

    /// Whether a path, without its query, matches.
    pub(crate) fn matches(&self, path: &str) -> bool {
        if path.len() > LONGEST_PATH {
            return false;
        }
        let path: Vec<_> = path.split('/').collect();
        let is_any = |segment: &Segment| *segment == Segment::Any;
        wildcard(&self.0, &path, is_any, |segment, text| match segment {
            Segment::Any => false,
            Segment::Pattern(pattern) => {
                wildcard(pattern.as_bytes(), text.as_bytes(), |byte| *byte == b'*', |one, other| one == other)
            }
        })
    }
}

/// A pattern as a client sends it.
pub(crate) fn rule() -> impl Rule<Value = String> {
    text(1..=200).pattern("^(/|\\*\\*)").then(|field, path: String| {
        if path.starts_with('/') || path.starts_with("**") {
            Some(path)
        } else {
            field.fail("must begin with / or **")
        }
    })
}

/// Whether a text matches a pattern with wildcards. Only the last wildcard is ever tried again, so the number of steps is at
/// most the product of the two lengths.
fn wildcard<P, T>(
    pattern: &[P],
    text: &[T],
    is_wildcard: impl Fn(&P) -> bool,
    equal: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut found) = (0, 0);
    // The position after the last wildcard, and the end of the text that it covers.
    let mut retry = None;
    while found < text.len() {
        match pattern.get(at) {
            Some(part) if is_wildcard(part) => {
                at += 1;
                retry = Some((at, found));
            }
            Some(part) if equal(part, &text[found]) => {
                at += 1;
                found += 1;
            }
            _ => match &mut retry {
                Some((after, covered)) => {
                    *covered += 1;
                    (at, found) = (*after, *covered);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(is_wildcard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_stays_within_a_segment_and_two_stars_do_not() {
        for (pattern, path, matches) in [
            ("/v3/pet", "/v3/pet", true),
            ("/v3/pet", "/v3/pet/1", false),
            ("/v3/pet/*", "/v3/pet/1", true),
            ("/v3/pet/*", "/v3/pet/1/uploadImage", false),
            ("/v3/pet/*", "/v3/pet/", true),
            ("/v3/pet/*", "/v3/pet", false),
            ("/v3/*/*", "/v3/pet/1", true),
            ("/v3/find*Status", "/v3/findByStatus", true),
            ("/v3/find*Status", "/v3/findBy/Status", false),
            ("/a*b*c", "/aXbXbc", true),
            ("/a*b*c", "/aXbXbd", false),
            ("/v3/**", "/v3/pet/1/uploadImage", true),
            ("/v3/**", "/v3", true),
            ("/v3/**", "/v30", false),
            ("/**/uploadImage", "/v3/pet/1/uploadImage", true),
            ("/**/pet/**/x", "/v3/pet/pet/1/x", true),
            ("/**/pet/**/x", "/v3/pet/pet/1/y", false),
            ("**", "/", true),
            ("*", "/", false),
            ("/bookings/**", "/Bookings/1", false),
            ("/v3/p**t", "/v3/pet", true),
            ("/v3/p**t", "/v3/p/t", false),
            ("/ü*", "/üb", true),
        ] {
            assert_eq!(Glob::new(pattern).matches(path), matches, "{pattern} {path}");
        }
    }

    #[test]
    fn path_that_is_too_long_matches_no_pattern() {
        let path = |length| "/".to_owned() + &"a".repeat(length - 1);
        assert!(Glob::new("**").matches(&path(LONGEST_PATH)));
        assert!(!Glob::new("**").matches(&path(LONGEST_PATH + 1)));
    }
}
