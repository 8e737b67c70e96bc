//! Finds a member that stands twice in its object. JSON leaves open which of the two counts, so that a client
//! and a service, or two services, may each take another one for what was meant: it is refused.

use std::{collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The place of the first member that its object has twice.
pub(super) fn first(json: &[u8]) -> Option<String> {
    let mut place = None;
    // That it is JSON at all has been seen before; the only error left is the one we look for.
    let _ = Search(&mut place).deserialize(&mut serde_json::Deserializer::from_slice(json));
    place.map(|place| format!("#{place}"))
}

/// Looks through one value. The place is put together on the way back out, where there is one to tell.
struct Search<'a>(&'a mut Option<String>);

impl Search<'_> {
    fn within(self, step: impl fmt::Display) {
        if let Some(place) = self.0 {
            *place = format!("/{step}{place}");
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

/// A member's name as a JSON pointer has it, short enough to be told back.
struct Step<'a>(&'a str);

impl fmt::Display for Step<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short: String = self.0.chars().take(60).collect();
        formatter.write_str(&short.replace('~', "~0").replace('/', "~1"))
    }
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    fn first_repeated_member_of_an_object_is_found() {
        for fine in [
            "{}",
            "[]",
            "12.50",
            "null",
            r#"{"a":1,"b":1.5e3,"c":"a","d":[null,true,{"a":1}],"e":{"a":{"a":-1}}}"#,
            r#"[{"a":1},{"a":1}]"#,
        ] {
            assert_eq!(first(fine.as_bytes()), None, "{fine}");
        }
        for (json, place) in [
            (r#"{"a":1,"a":1}"#, "#/a"),
            (r#"{"a":1,"b":2,"\u0061":3,"b":4}"#, "#/a"),
            (r#"{"a":[0,{"b":{"c":1,"c":2}}]}"#, "#/a/1/b/c"),
            (r#"{"x/y~z":1,"x/y~z":1}"#, "#/x~1y~0z"),
            (r#"{"":0,"":0}"#, "#/"),
        ] {
            assert_eq!(first(json.as_bytes()).as_deref(), Some(place), "{json}");
        }
    }
}
