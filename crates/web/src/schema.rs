//! Schemas of declared types: what `#[derive(Resource)]` and its relatives of the crate `model` put together.

use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::{
    RefOr, Required,
    path::{Parameter, ParameterBuilder, ParameterIn, ParameterStyle},
    schema::{AdditionalProperties, Object, ObjectBuilder, Schema, Type},
    xml::XmlBuilder,
};

use crate::input::rules::{Arity, Describe, Rule};

/// What a declaration says of a member besides its rule.
#[derive(Default)]
pub struct Member {
    pub name: &'static str,
    pub description: &'static str,
    pub required: bool,
    pub example: Option<Value>,
    pub default: Option<Value>,
    pub write_only: bool,
    /// The name of the element that holds the items of a list, if that is another than the member's.
    pub xml_name: Option<&'static str>,
}

/// An object schema that is being built.
pub fn object(description: &str, xml_root: Option<&'static str>) -> Object {
    let xml = xml_root.map(|root| XmlBuilder::new().name(Some(root)).build());
    ObjectBuilder::new().schema_type(Type::Object).description(described(description)).xml(xml).build()
}

/// An enumeration.
pub fn words(description: &str, words: &'static [&'static str]) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).description(described(description));
    text.enum_values(Some(words.iter().copied())).into()
}

/// Adds a member to an object.
pub fn add(object: &mut Object, rule: &impl Describe, member: Member) {
    if member.required {
        object.required.push(member.name.into());
    }
    let name = member.name.into();
    object.properties.insert(name, member.schema(rule));
}

/// Says that an object has no other members.
pub fn close(object: &mut Object) {
    object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
}

/// A parameter of a query string.
pub fn parameter(rule: &impl Rule, member: Member) -> Parameter {
    let example = member.example.clone();
    let required = if member.required { Required::True } else { Required::False };
    let parameter = ParameterBuilder::new()
        .name(member.name)
        .parameter_in(ParameterIn::Query)
        .description(described(member.description))
        .required(required)
        .example(example);
    let schema = Member { description: "", example: None, ..member }.schema(rule);
    let parameter = parameter.schema(Some(schema));
    match rule.arity() {
        Arity::Separated => parameter.style(Some(ParameterStyle::Form)).explode(Some(true)),
        _ => parameter,
    }
    .build()
}

/// A default or an example as the document has it.
pub fn value(value: impl Serialize) -> Option<Value> {
    serde_json::to_value(value).ok()
}

impl Member {
    fn schema(self, rule: &impl Describe) -> RefOr<Schema> {
        let mut schema = rule.schema();
        let description = described(self.description);
        match &mut schema {
            RefOr::Ref(reference) => {
                reference.description = self.description.into();
                reference.default = self.default;
            }
            RefOr::T(Schema::Object(object)) => {
                object.description = description.or(object.description.take());
                object.default = self.default;
                object.examples.extend(self.example);
                object.write_only = self.write_only.then_some(true);
            }
            RefOr::T(Schema::Array(array)) => {
                array.description = description;
                array.default = self.default;
                array.examples.extend(self.example);
                if let (Some(name), Some(xml)) = (self.xml_name, &mut array.xml) {
                    xml.name = Some(name.into());
                }
            }
            RefOr::T(Schema::AnyOf(any)) => any.description = description,
            RefOr::T(Schema::OneOf(one)) => one.description = description,
            RefOr::T(_) => {}
        }
        schema
    }
}

fn described(description: &str) -> Option<String> {
    Some(description.to_owned()).filter(|description| !description.is_empty())
}
