//! Finds a repeated member of an object. JSON does not define which of the two values is meant, so that programs may read
//! different ones: a body with a repeated member is rejected.

use std::{collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The pointer to the first repeated member of a text that was read as `value`.
pub(super) fn first(json: &[u8], value: &Value) -> Option<String> {
    // Of a repeated member the value keeps one.
    if written_members(json) == members(value) {
        return None;
    }
    let mut pointer = None;
    // The caller has parsed the JSON already, so that a repeated member is the only possible error.
    let _ = Search(&mut pointer).deserialize(&mut serde_json::Deserializer::from_slice(json));
    pointer.map(|pointer| format!("#{pointer}"))
}

/// How many members the objects of a JSON text have: each has a colon after its name.
fn written_members(json: &[u8]) -> usize {
    let (mut colons, mut in_text) = (0, false);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_text = !in_text,
            // The next byte is part of the text, also if it is a quote.
            b'\\' => drop(bytes.next()),
            b':' if !in_text => colons += 1,
            _ => {}
        }
    }
    colons
}

fn members(value: &Value) -> usize {
    match value {
        Value::Object(object) => object.len() + object.values().map(members).sum::<usize>(),
        Value::Array(items) => items.iter().map(members).sum(),
        _ => 0,
    }
}

/// Searches one value. When a repeated member is found, each enclosing value adds its step to the front of the pointer.
struct Search<'a>(&'a mut Option<String>);

impl Search<'_> {
    fn within(self, step: impl fmt::Display) {
        if let Some(pointer) = self.0 {
            *pointer = format!("/{step}{pointer}");
        }
    }
}

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if seen.contains(&name) {
                *self.0 = Some(String::new());
                self.within(Step(&name));
                return Err(A::Error::custom("a repeated member"));
            }
            if let Err(error) = members.next_value_seed(Search(self.0)) {
                self.within(Step(&name));
                return Err(error);
            }
            seen.insert(name);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for index in 0_usize.. {
            match items.next_element_seed(Search(self.0)) {
                Ok(Some(())) => {}
                Ok(None) => break,
                Err(error) => {
                    self.within(index);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

/// A member's name in a JSON pointer, shortened for the answer.
pub(super) struct Step<'a>(pub(super) &'a str);

impl fmt::Display for Step<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short: String = self.0.chars().take(60).collect();
        formatter.write_str(&short.replace('~', "~0").replace('/', "~1"))
    }
}

#[cfg(test)]
mod tests {
    fn first(json: &str) -> Option<String> {
        super::first(json.as_bytes(), &serde_json::from_str(json).unwrap())
    }

    #[test]
    fn first_repeated_member_of_an_object_is_found() {
        for fine in [
            "{}",
            "[]",
            "12.50",
            "null",
            r#"{"a":1,"b":1.5e3,"c":"a","d":[null,true,{"a":1}],"e":{"a":{"a":-1}}}"#,
            r#"[{"a":1},{"a":1}]"#,
            r#"{"a:":":\"a\":1,","\\":"\\\":","b":":"}"#,
        ] {
            assert_eq!(first(fine), None, "{fine}");
        }
        for (json, pointer) in [
            (r#"{"a":1,"a":1}"#, "#/a"),
            (r#"{"a":1,"b":2,"\u0061":3,"b":4}"#, "#/a"),
            (r#"{"a":[0,{"b":{"c":1,"c":2}}]}"#, "#/a/1/b/c"),
            (r#"{"x/y~z":1,"x/y~z":1}"#, "#/x~1y~0z"),
            (r#"{"":0,"":0}"#, "#/"),
            (r#"{"\":":0,"\\":1,"\":":0}"#, "#/\":"),
        ] {
            assert_eq!(first(json).as_deref(), Some(pointer), "{json}");
        }
    }
}
