//! Rules for objects within objects.

use std::marker::PhantomData;

use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{Ref, RefOr, schema::Schema},
};

use super::super::{
    Input,
    field::{Field, RawValue},
    repeats,
    rule::{Components, Describe, Rule},
};

/// An object that is described by a component. In a form it is the text of a JSON object, as in OpenAPI.
pub fn nested<T: Input + ToSchema>() -> Nested<T> {
    Nested(PhantomData)
}

pub struct Nested<T>(PhantomData<T>);

impl<T: Input + ToSchema> Describe for Nested<T> {
    fn schema(&self) -> RefOr<Schema> {
        component::<T>().schema()
    }

    fn components(&self, components: &mut Components) {
        component::<T>().components(components);
    }
}

impl<T: Input + ToSchema> Rule for Nested<T> {
    type Value = T;

    fn read(&self, field: &mut Field<'_>) -> Option<T> {
        let RawValue::Text(text) = field.raw else { return T::read_value(field) };
        match serde_json::from_str::<Value>(text) {
            Ok(value) if repeats::first(text.as_bytes(), &value).is_none() => {
                let pointer = field.pointer.clone();
                T::read_value(&mut Field {
                    raw: RawValue::Json(&value),
                    pointer,
                    validation: field.validation,
                })
            }
            _ => field.fail("must be a JSON object, as text"),
        }
    }
}

/// The description of a type by its component.
pub fn component<T: ToSchema>() -> Component<T> {
    Component(PhantomData)
}

pub struct Component<T>(PhantomData<T>);

impl<T: ToSchema> Describe for Component<T> {
    fn schema(&self) -> RefOr<Schema> {
        Ref::from_schema_name(T::name()).into()
    }

    fn components(&self, components: &mut Components) {
        components.push((T::name().into(), T::schema()));
        T::schemas(components);
    }
}
