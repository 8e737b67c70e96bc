//! XML answers, read by the names that an OpenAPI document gives their elements.

use quick_xml::{Reader, events::Event};
use serde_json::{Map, Value};

use crate::openapi::resolve;

#[derive(Default)]
struct Element {
    name: String,
    text: String,
    children: Vec<Element>,
}

/// Converts an XML document to JSON by a schema. Panics if an element is not named as in the schema, if a required one is
/// missing, or if a value is not of its type.
#[track_caller]
pub fn by_schema(document: &Value, schema: &Value, text: &str) -> Value {
    let root = parse(text);
    let schema = resolve(document, schema);
    assert_eq!(schema["xml"]["name"], root.name.as_str(), "the root element of {text}");
    read(document, schema, &root)
}

/// Panics if a text is not one element of XML.
#[track_caller]
pub fn is_well_formed(text: &str) {
    let mut reader = Reader::from_str(text);
    let (mut depth, mut roots) = (0_usize, 0);
    loop {
        // An end without its start is an error of the reader.
        match reader.read_event().unwrap_or_else(|error| panic!("{error} in {text}")) {
            Event::Start(tag) => {
                roots += usize::from(depth == 0);
                depth += 1;
                tag.attributes().for_each(|attribute| drop(attribute.unwrap()));
            }
            Event::Empty(tag) => {
                roots += usize::from(depth == 0);
                tag.attributes().for_each(|attribute| drop(attribute.unwrap()));
            }
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((depth, roots), (0, 1), "{text}");
}

fn read(document: &Value, schema: &Value, element: &Element) -> Value {
    let schema = resolve(document, schema);
    match schema["type"].as_str() {
        Some("object") => Value::Object(members(document, schema, element)),
        Some("array") => {
            let items = resolve(document, &schema["items"]);
            let item = |child: &Element| {
                assert_eq!(items["xml"]["name"], child.name.as_str(), "an item of {}", element.name);
                read(document, items, child)
            };
            element.children.iter().map(item).collect()
        }
        Some("string") => element.text.as_str().into(),
        // Numbers and booleans are written as in JSON.
        _ => element.text.parse().unwrap_or_else(|_| panic!("{} is {}", element.name, element.text)),
    }
}

fn members(document: &Value, schema: &Value, element: &Element) -> Map<String, Value> {
    let mut members = Map::new();
    for child in &element.children {
        let properties = schema["properties"].as_object().unwrap();
        // A list is one element with the name of the property, which contains its items.
        let named = |(name, property): &(&String, &Value)| {
            let property = resolve(document, property);
            let own = if property["type"] == "array" { &property["xml"]["name"] } else { &Value::Null };
            assert!(
                property["type"] != "array" || property["xml"]["wrapped"] == true,
                "{name} is not wrapped"
            );
            own.as_str().unwrap_or(name) == child.name
        };
        let found = properties.iter().find(named);
        let (name, property) = found.unwrap_or_else(|| panic!("{} is no member of {schema}", child.name));
        let before = members.insert(name.clone(), read(document, property, child));
        assert!(before.is_none(), "{name} is there twice");
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(
            members.contains_key(required.as_str().unwrap()),
            "{required} is missing in {}",
            element.name
        );
    }
    members
}

fn parse(text: &str) -> Element {
    let mut reader = Reader::from_str(text);
    let mut open = vec![Element::default()];
    loop {
        match reader.read_event().unwrap() {
            Event::Decl(_) => {}
            Event::Start(tag) => {
                let name = tag.name().as_ref().to_owned();
                open.push(Element { name, ..Element::default() });
            }
            Event::End(_) => {
                let element = open.pop().unwrap();
                open.last_mut().unwrap().children.push(element);
            }
            Event::Text(text) => open.last_mut().unwrap().text.push_str(&text),
            Event::Eof => return open.remove(0).children.remove(0),
            other => panic!("{other:?} in {text}"),
        }
    }
}
