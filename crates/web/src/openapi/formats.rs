//! Adds the formats of bodies and answers to the operations.
//!
//! `#[derive(Resource)]` notes the formats in the schema of a type, from the constants by which the server reads and writes it,
//! so that an operation names the type once. [`complete`](super::complete) removes the notes from the document.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::openapi::{
    OpenApi, Ref, RefOr, ResponseBuilder,
    content::Content,
    extensions::Extensions,
    schema::{ArrayItems, Schema},
    xml::XmlBuilder,
};

use super::{data::here, operations};
use crate::{
    input::{Input, media_types},
    negotiate::{JSON, XML},
    problem::UNPROCESSABLE,
};

/// The extensions that note the formats of a body, and the XML element of a list.
const BODY: &str = "x-body";
const LIST: &str = "x-list";

/// Notes in the schema of a body the formats in which it is accepted.
pub fn accepted_formats<T: Input>(schema: RefOr<Schema>) -> RefOr<Schema> {
    let unprocessable = T::BROKEN == &UNPROCESSABLE;
    noted(schema, BODY, json!({"types": media_types::<T>(), "unprocessable": unprocessable}))
}

/// Notes in the schema of an answer the XML element of a list of it.
pub fn listed(schema: RefOr<Schema>, list: &'static str) -> RefOr<Schema> {
    noted(schema, LIST, list.into())
}

fn noted(mut schema: RefOr<Schema>, name: &str, note: Value) -> RefOr<Schema> {
    if let Some(extensions) = extensions(&mut schema) {
        extensions.get_or_insert_default().insert(name.into(), note);
    }
    schema
}

/// Adds XML to the answers of operations that answer in the format of the `Accept` header
/// ([`ResponseFormat`](crate::reply::ResponseFormat)), where the document has their type in JSON.
pub fn answer_in_xml(document: &mut OpenApi) {
    let Some(components) = document.components.clone() else { return };
    let component = |reference: &Ref| components.schemas.get(name(reference));
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        let answers = operation.responses.responses.iter_mut();
        for (_, response) in answers.filter(|(status, _)| status.starts_with('2')) {
            let Some(response) = here(response) else { continue };
            let Some(RefOr::T(in_json)) = response.content.get(JSON) else { continue };
            let in_xml = match &in_json.schema {
                Some(RefOr::Ref(one)) if component(one).is_some_and(is_element) => in_json.clone(),
                Some(RefOr::T(Schema::Array(list))) => {
                    let ArrayItems::RefOrSchema(items) = &list.items else { continue };
                    let RefOr::Ref(item) = items.as_ref() else { continue };
                    let Some(Value::String(root)) = component(item).and_then(|item| note(item, LIST)) else {
                        continue;
                    };
                    let mut list = list.clone();
                    list.xml = Some(XmlBuilder::new().name(Some(root)).wrapped(Some(true)).build());
                    Content::new(Some(Schema::Array(list)))
                }
                _ => continue,
            };
            response.content.entry(XML.into()).or_insert(in_xml.into());
        }
    }
}

/// Adds to each body the formats in which its type is accepted, and to its operation the answer to validation errors.
pub(super) fn describe_bodies(document: &mut OpenApi) {
    let mut notes = BTreeMap::new();
    for (name, schema) in document.components.iter_mut().flat_map(|all| &mut all.schemas) {
        take(schema, LIST);
        notes.extend(take(schema, BODY).map(|note| (name.clone(), note)));
    }
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        let Some(body) = operation.request_body.as_mut().and_then(here) else { continue };
        let Some(in_json) = body.content.get_mut(JSON).and_then(here) else { continue };
        let note = match &mut in_json.schema {
            Some(RefOr::Ref(reference)) => notes.get(name(reference)).cloned(),
            Some(schema) => take(schema, BODY),
            None => None,
        };
        let Some(note) = note else { continue };
        let content = in_json.clone();
        for media_type in note["types"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            body.content.entry(media_type.into()).or_insert_with(|| content.clone().into());
        }
        if note["unprocessable"] == true {
            let broken = ResponseBuilder::new().description("The body breaks a rule.");
            operation.responses.responses.entry("422".into()).or_insert(broken.into());
        }
    }
}

/// The name of the component that a reference names.
fn name(reference: &Ref) -> &str {
    reference.ref_location.rsplit('/').next().unwrap_or_default()
}

/// Whether a type has an element in XML.
fn is_element(schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::T(Schema::Object(object)) if object.xml.is_some())
}

fn note(schema: &RefOr<Schema>, name: &str) -> Option<Value> {
    extensions(&mut schema.clone())?.as_ref()?.get(name).cloned()
}

fn take(schema: &mut RefOr<Schema>, name: &str) -> Option<Value> {
    let extensions = extensions(schema)?;
    let note = extensions.as_mut()?.remove(name);
    if extensions.as_ref().is_some_and(|left| left.is_empty()) {
        *extensions = None;
    }
    note
}

fn extensions(schema: &mut RefOr<Schema>) -> Option<&mut Option<Extensions>> {
    Some(match here(schema)? {
        Schema::Object(object) => &mut object.extensions,
        Schema::Array(array) => &mut array.extensions,
        Schema::OneOf(one) => &mut one.extensions,
        Schema::AllOf(all) => &mut all.extensions,
        Schema::AnyOf(any) => &mut any.extensions,
        _ => return None,
    })
}
