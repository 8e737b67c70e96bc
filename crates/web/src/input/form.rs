//! Reads `application/x-www-form-urlencoded` strictly: an invalid percent code or text that is not UTF-8 is an error.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Names and values in the order in which they were sent.
pub type Pairs<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// How many fields a form may have. In memory each takes many times the bytes that it has in the body.
const MOST: usize = 10_000;

/// The names and values of a query string or form, in order.
pub fn pairs(text: &str) -> Result<Pairs<'_>, &'static str> {
    if text.bytes().filter(|byte| *byte == b'&').count() >= MOST {
        return Err("has more than 10000 fields");
    }
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        })
        .collect()
}

/// One name or value.
pub fn decode(text: &str) -> Result<Cow<'_, str>, &'static str> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Ok(Cow::Borrowed(text));
    }
    let is_code = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if !text.split('%').skip(1).all(is_code) {
        return Err("has a % that is not followed by two hexadecimal digits");
    }
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8();
    decoded.map(|text| Cow::Owned(text.into_owned())).map_err(|_| "has percent codes that are not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn pairs_are_decoded_in_order() {
        let found = pairs("a=1&b=x+y%26z&&c&a=%C3%A9&=v&d=e=f").unwrap();
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
        let expected = [("a", "1"), ("b", "x y&z"), ("c", ""), ("a", "é"), ("", "v"), ("d", "e=f")];
        assert_eq!(found, expected);
    }

    #[test]
    fn number_of_fields_is_limited() {
        assert_eq!(pairs(&"a=&".repeat(9_999)).map(|pairs| pairs.len()), Ok(9_999));
        assert_eq!(pairs(&"a=&".repeat(10_000)), Err("has more than 10000 fields"));
    }

    #[test]
    fn invalid_percent_codes_are_rejected() {
        for broken in ["a=%", "a=%4", "a=%zz", "%=1", "a=%+1"] {
            assert_eq!(
                pairs(broken),
                Err("has a % that is not followed by two hexadecimal digits"),
                "{broken}"
            );
        }
        for broken in ["a=%ff", "a=%C3", "%80=1"] {
            assert_eq!(pairs(broken), Err("has percent codes that are not UTF-8"), "{broken}");
        }
    }
}
