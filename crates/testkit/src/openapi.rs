//! Reads OpenAPI documents.

use std::collections::BTreeSet;

use serde_json::Value;

/// The target of a `$ref`, or the value itself.
#[track_caller]
pub fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
            target.unwrap_or_else(|| panic!("{reference} leads nowhere"))
        }
        None => value,
    }
}

/// The names of the members of an object.
pub fn keys(value: &Value) -> Vec<&str> {
    value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

/// Asserts that every reference has a target, and that every component is used.
#[track_caller]
pub fn is_whole(document: &Value) {
    let mut references = BTreeSet::new();
    collect(document, &mut references);
    let mut components = BTreeSet::new();
    for kind in ["schemas", "responses"] {
        components.extend(
            keys(&document["components"][kind]).iter().map(|name| format!("#/components/{kind}/{name}")),
        );
    }
    assert_eq!(references, components);
    assert!(!references.is_empty());
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                found.insert(reference.clone());
            }
            members.values().for_each(|member| collect(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}
