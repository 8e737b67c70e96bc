//! Converts the document to OpenAPI 3.0, for tools that do not read 3.1.
//!
//! 3.1 uses JSON Schema, 3.0 has its own dialect. Keywords with an equivalent in 3.0 are converted; the others are removed, so
//! that the document accepts more, but is never wrong.

use serde_json::{Map, Value, json};

/// Keywords that 3.0 does not have.
const UNKNOWN: &[&str] = &[
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "propertyNames",
    "patternProperties",
    "prefixItems",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentMediaType",
    "contentEncoding",
    "contentSchema",
    "$defs",
    "$comment",
    "$schema",
    "$id",
    "$anchor",
];

/// The document as OpenAPI 3.0.
pub(crate) fn as_3_0(mut document: Value) -> Value {
    document["openapi"] = "3.0.4".into();
    for (owner, members) in [
        ("", &["webhooks", "jsonSchemaDialect"][..]),
        ("/info", &["summary"]),
        ("/info/license", &["identifier"]),
        ("/components", &["pathItems"]),
    ] {
        if let Some(Value::Object(owner)) = document.pointer_mut(owner) {
            owner.retain(|name, _| !members.contains(&name.as_str()));
        }
    }
    if let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas") {
        schemas.values_mut().for_each(convert);
    }
    for part in ["/paths", "/components/responses", "/components/parameters", "/components/requestBodies"] {
        document.pointer_mut(part).into_iter().for_each(convert_schemas_within);
    }
    document
}

/// Converts all schemas of parameters, headers and bodies.
fn convert_schemas_within(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if name == "schema" { convert(member) } else { convert_schemas_within(member) }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(convert_schemas_within),
        _ => {}
    }
}

fn convert(schema: &mut Value) {
    let members = match schema {
        Value::Object(members) => members,
        // `true` accepts any value, `false` none.
        Value::Bool(any) => {
            *schema = if *any { json!({}) } else { json!({"not": {}}) };
            return;
        }
        _ => return,
    };
    members.retain(|name, _| !UNKNOWN.contains(&name.as_str()));
    if let Some(Value::Object(all)) = members.get_mut("properties") {
        all.values_mut().for_each(convert);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(all)) = members.get_mut(name) {
            all.iter_mut().for_each(convert);
        }
    }
    for name in ["items", "not"] {
        members.get_mut(name).into_iter().for_each(convert);
    }
    if let Some(others @ Value::Object(_)) = members.get_mut("additionalProperties") {
        convert(others);
    }
    convert_type(members);
    convert_values(members);
    // 3.0 ignores all keywords next to a `$ref`.
    if members.len() > 1
        && let Some(reference) = members.remove("$ref")
    {
        members.insert("allOf".into(), json!([{"$ref": reference}]));
    }
}

/// 3.0 has a single type and `nullable`, instead of a list of types.
fn convert_type(members: &mut Map<String, Value>) {
    let is_null = |schema: &Value| schema.get("enum") == Some(&json!([null]));
    for name in ["anyOf", "oneOf"] {
        let Some(Value::Array(all)) = members.get_mut(name) else { continue };
        let before = all.len();
        all.retain(|schema| !is_null(schema));
        if all.len() < before {
            members.insert("nullable".into(), true.into());
        }
    }
    match members.remove("type") {
        Some(Value::String(null)) if null == "null" => {
            members.insert("nullable".into(), true.into());
            members.insert("enum".into(), json!([null]));
        }
        Some(Value::Array(types)) => {
            let (null, types): (Vec<_>, Vec<_>) = types.into_iter().partition(|name| name == "null");
            if !null.is_empty() {
                members.insert("nullable".into(), true.into());
            }
            match types.as_slice() {
                [one] => drop(members.insert("type".into(), one.clone())),
                several => {
                    let several: Vec<_> = several.iter().map(|name| json!({"type": name})).collect();
                    members.insert("anyOf".into(), several.into());
                }
            }
        }
        Some(one) => drop(members.insert("type".into(), one)),
        None => {}
    }
    if members.get("type").is_some_and(|name| name == "array") && !members.contains_key("items") {
        members.insert("items".into(), json!({}));
    }
}

/// Converts keywords that have another name or form in 3.0.
fn convert_values(members: &mut Map<String, Value>) {
    if let Some(Value::Array(examples)) = members.remove("examples")
        && let Some(first) = examples.into_iter().next()
    {
        members.entry("example").or_insert(first);
    }
    if let Some(only) = members.remove("const") {
        members.insert("enum".into(), json!([only]));
    }
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(value @ Value::Number(_)) = members.get(exclusive).cloned() {
            members.insert(bound.into(), value);
            members.insert(exclusive.into(), true.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(mut schema: Value) -> Value {
        convert(&mut schema);
        schema
    }

    #[test]
    fn schemas_are_converted_to_openapi_3_0() {
        for (schema, expected) in [
            (json!({"type": "string", "examples": ["a", "b"]}), json!({"type": "string", "example": "a"})),
            (json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true})),
            (
                json!({"type": ["string", "integer"]}),
                json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            ),
            (json!({"const": "EUR"}), json!({"enum": ["EUR"]})),
            (
                json!({"oneOf": [{"type": "null"}, {"$ref": "#/x"}]}),
                json!({"oneOf": [{"$ref": "#/x"}], "nullable": true}),
            ),
            (
                json!({"type": "number", "exclusiveMinimum": 0}),
                json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
            ),
            (json!({"$ref": "#/x"}), json!({"$ref": "#/x"})),
            (
                json!({"$ref": "#/x", "description": "y"}),
                json!({"allOf": [{"$ref": "#/x"}], "description": "y"}),
            ),
            (json!({"type": "array"}), json!({"type": "array", "items": {}})),
            (
                json!({"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"const": 1}}),
                json!({"type": "object", "additionalProperties": {"enum": [1]}}),
            ),
            (
                json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "properties": {"a": {"examples": [1]}}}),
                json!({"properties": {"a": {"example": 1}}}),
            ),
            (json!({"items": true, "not": false}), json!({"items": {}, "not": {"not": {}}})),
            // A property of this name is a property, not a keyword.
            (
                json!({"properties": {"examples": {"type": "null"}}}),
                json!({"properties": {"examples": {"nullable": true, "enum": [null]}}}),
            ),
        ] {
            assert_eq!(converted(schema.clone()), expected, "{schema}");
        }
    }
}
