//! How a source stands in the OpenAPI document: its member `object` says which of the two it is.

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr,
        schema::{Discriminator, ObjectBuilder, OneOfBuilder, Schema, Type},
    },
};

use super::source::{BankAccount, Card, KINDS, Kind, Source};

/// Whose account it is.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(super) enum AccountType {
    Individual,
    Company,
}

/// Why a payment failed.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(super) enum Failure {
    CardDeclined,
    ExpiredCard,
    InsufficientFunds,
}

impl PartialSchema for Source {
    fn schema() -> RefOr<Schema> {
        let mut kinds = Discriminator::new("object");
        let mut either = OneOfBuilder::new().description(Some("A card or a bank account."));
        for (word, kind) in KINDS {
            let reference = Ref::from_schema_name(kind.described().0);
            kinds.mapping.insert((*word).into(), reference.ref_location.clone());
            either = either.item(reference);
        }
        either.discriminator(Some(kinds)).into()
    }
}

impl ToSchema for Source {
    fn name() -> Cow<'static, str> {
        "PaymentSourceInput".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        for (word, kind) in KINDS {
            let (name, mut schema) = kind.described();
            if let RefOr::T(Schema::Object(members)) = &mut schema {
                let object = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([*word]));
                members.properties.insert("object".into(), object.into());
                members.required.insert(0, "object".into());
            }
            schemas.push((name.into(), schema));
        }
    }
}

impl Kind {
    fn described(self) -> (Cow<'static, str>, RefOr<Schema>) {
        match self {
            Kind::Card => (Card::name(), Card::schema()),
            Kind::BankAccount => (BankAccount::name(), BankAccount::schema()),
        }
    }
}
