//! The general rules for text and numbers, written into the schemas that have no others.

use utoipa::{
    Number,
    openapi::{
        OpenApi, RefOr,
        schema::{
            AdditionalProperties, ArrayItems, KnownFormat, Object, Schema, SchemaFormat, SchemaType, Type,
        },
    },
};

use super::operations;

/// The characters that [`rules::text`](crate::input::rules::text) rejects: control characters except line breaks and tabs, and
/// characters that XML cannot carry.
const REJECTED: &str = r"\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\uFFFE\uFFFF";

/// The pattern of text without the rejected characters and those of a class. Text that must not be blank needs one character
/// that is not a blank.
pub fn text_pattern(but: &str, blank: bool) -> String {
    let any = format!("[^{but}{REJECTED}]*");
    if blank { format!("^{any}$") } else { format!("^{any}[^\\s{but}{REJECTED}]{any}$") }
}

/// Adds the pattern of text and the range of whole numbers to schemas that have none.
pub(super) fn describe(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        for operation in operations(item) {
            for parameter in operation.parameters.iter_mut().flatten().filter_map(here) {
                parameter.schema.iter_mut().for_each(describe_schema);
            }
            let bodies = operation.request_body.iter_mut().filter_map(here);
            let sent = bodies.flat_map(|body| body.content.values_mut());
            let answers = operation.responses.responses.values_mut().filter_map(here);
            let answered = answers.flat_map(|response| response.content.values_mut());
            for content in sent.chain(answered).filter_map(here) {
                content.schema.iter_mut().for_each(describe_schema);
            }
        }
    }
    document.components.iter_mut().flat_map(|all| all.schemas.values_mut()).for_each(describe_schema);
}

/// The schema itself, or `None` for a reference: the component that it names is completed on its own.
pub(super) fn here<T>(value: &mut RefOr<T>) -> Option<&mut T> {
    match value {
        RefOr::T(value) => Some(value),
        RefOr::Ref(_) => None,
    }
}

fn describe_schema(schema: &mut RefOr<Schema>) {
    let Some(schema) = here(schema) else { return };
    match schema {
        Schema::Array(array) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                describe_schema(items);
            }
        }
        Schema::Object(object) => describe_object(object),
        Schema::OneOf(one) => one.items.iter_mut().for_each(describe_schema),
        Schema::AllOf(all) => all.items.iter_mut().for_each(describe_schema),
        Schema::AnyOf(any) => any.items.iter_mut().for_each(describe_schema),
        _ => {}
    }
}

fn describe_object(object: &mut Object) {
    object.properties.values_mut().for_each(describe_schema);
    if let Some(AdditionalProperties::RefOr(schema)) = object.additional_properties.as_deref_mut() {
        describe_schema(schema);
    }
    let format = match &object.format {
        Some(SchemaFormat::KnownFormat(format)) => Some(format),
        Some(SchemaFormat::Custom(_)) => return,
        None => None,
    };
    match (&object.schema_type, format) {
        (SchemaType::Type(Type::String), None | Some(KnownFormat::Password))
            if object.enum_values.is_none() && object.pattern.is_none() =>
        {
            let blank = object.min_length.is_none_or(|least| least == 0);
            object.pattern = Some(text_pattern("", blank));
        }
        (SchemaType::Type(Type::Integer), Some(KnownFormat::Int32)) => {
            within(object, i32::MIN as isize, i32::MAX as isize);
        }
        (SchemaType::Type(Type::Integer), Some(KnownFormat::Int64)) => within(object, isize::MIN, isize::MAX),
        _ => {}
    }
}

fn within(object: &mut Object, least: isize, most: isize) {
    if object.exclusive_minimum.is_none() {
        object.minimum.get_or_insert(Number::Int(least));
    }
    if object.exclusive_maximum.is_none() {
        object.maximum.get_or_insert(Number::Int(most));
    }
}
