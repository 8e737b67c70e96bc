//! Pets: the type and its rules.

pub(crate) mod api;
pub(crate) mod find;
pub(crate) mod store;
mod xml;

use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr,
        schema::{ArrayBuilder, ObjectBuilder, Schema, Type},
        xml::XmlBuilder,
    },
};
use web::{
    input::{Fields, Input, rules},
    problem::{Kind, UNPROCESSABLE},
};

/// How much a pet may say.
pub(crate) const LONGEST_NAME: usize = 200;
const LONGEST_ADDRESS: usize = 2_000;
pub(crate) const MOST_PHOTOS: usize = 100;
const MOST_TAGS: usize = 100;

/// A pet in the store.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(xml(name = "pet"))]
pub(crate) struct Pet {
    #[schema(examples(10))]
    pub(crate) id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Category, required = false)]
    pub(crate) category: Option<Named>,
    #[schema(min_length = 1, max_length = 200, examples("doggie"))]
    pub(crate) name: String,
    #[schema(value_type = Vec<PhotoUrl>, inline, xml(wrapped))]
    pub(crate) photo_urls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<Tag>, required = false, max_items = 100, xml(wrapped))]
    pub(crate) tags: Option<Vec<Named>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub(crate) status: Option<Status>,
}

/// A category of pets, or a tag on one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Named {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
}

/// A category of pets.
#[derive(ToSchema)]
#[schema(xml(name = "category"))]
#[expect(dead_code, reason = "the OpenAPI document reads it: the two are elements of different names in XML")]
pub(crate) struct Category {
    #[schema(required = false, examples(1))]
    id: i64,
    #[schema(required = false, max_length = 200, examples("Dogs"))]
    name: String,
}

/// A tag on a pet.
#[derive(ToSchema)]
#[schema(xml(name = "tag"))]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(crate) struct Tag {
    #[schema(required = false, examples(1))]
    id: i64,
    #[schema(required = false, max_length = 200, examples("tag1"))]
    name: String,
}

/// The address of a picture.
struct PhotoUrl;

impl PartialSchema for PhotoUrl {
    fn schema() -> RefOr<Schema> {
        let address = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(LONGEST_ADDRESS));
        address.xml(Some(XmlBuilder::new().name(Some("photoUrl")).build())).into()
    }
}

impl ToSchema for PhotoUrl {}

/// A list of pets in XML.
pub(crate) struct PetList;

impl PartialSchema for PetList {
    fn schema() -> RefOr<Schema> {
        let root = XmlBuilder::new().name(Some("pets")).wrapped(Some(true)).build();
        ArrayBuilder::new().items(Ref::from_schema_name("Pet")).xml(Some(root)).into()
    }
}

impl ToSchema for PetList {}

/// Where a pet stands in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Available,
    Pending,
    Sold,
}

impl Status {
    pub(crate) const WORDS: &[(&str, Status)] =
        &[("available", Status::Available), ("pending", Status::Pending), ("sold", Status::Sold)];

    pub(crate) fn word(self) -> &'static str {
        Status::WORDS[self as usize].0
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Status::WORDS.iter().find(|(known, _)| *known == word).map(|(_, status)| *status)
    }
}

/// A pet as a client sends it.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = PetInput, xml(name = "pet"))]
pub(crate) struct NewPet {
    /// Assigned if it is absent.
    #[schema(required = false, nullable = false, examples(10))]
    pub(crate) id: Option<i64>,
    #[schema(value_type = Category, required = false)]
    pub(crate) category: Option<Named>,
    #[schema(min_length = 1, max_length = 200, examples("doggie"))]
    pub(crate) name: String,
    #[schema(value_type = Vec<PhotoUrl>, inline, max_items = 100, xml(wrapped))]
    pub(crate) photo_urls: Vec<String>,
    #[schema(value_type = Vec<Tag>, required = false, max_items = 100, xml(wrapped))]
    pub(crate) tags: Option<Vec<Named>>,
    #[schema(required = false, nullable = false)]
    pub(crate) status: Option<Status>,
}

/// A pet that replaces another: it says which.
pub(crate) struct PetUpdate;

impl PartialSchema for PetUpdate {
    fn schema() -> RefOr<Schema> {
        let mut schema = NewPet::schema();
        if let RefOr::T(Schema::Object(pet)) = &mut schema {
            pet.required.insert(0, "id".into());
        }
        schema
    }
}

impl ToSchema for PetUpdate {}

impl Input for NewPet {
    const XML_ROOT: Option<&'static str> = Some("pet");
    const FORM: bool = true;
    const BROKEN: &'static Kind = &UNPROCESSABLE;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let id = fields.optional("id", rules::id);
        let category = fields.optional("category", rules::object(Named::read_value));
        let name = fields.required("name", rules::text(1..=LONGEST_NAME));
        let photo = rules::text(1..=LONGEST_ADDRESS);
        let photo_urls = fields.required_list("photoUrls", "photoUrl", 0..=MOST_PHOTOS, photo);
        let tags = fields.optional_list("tags", "tag", 0..=MOST_TAGS, rules::object(Named::read_value));
        let status = fields.optional("status", rules::one_of(Status::WORDS));
        Some(NewPet {
            id: id?,
            category: category?,
            name: name?,
            photo_urls: photo_urls?,
            tags: tags?,
            status: status?,
        })
    }
}

/// A pet in place of another, which its id names.
pub(crate) struct Replacement(pub(crate) Pet);

impl Input for Replacement {
    const XML_ROOT: Option<&'static str> = NewPet::XML_ROOT;
    const FORM: bool = NewPet::FORM;
    const BROKEN: &'static Kind = NewPet::BROKEN;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let new = NewPet::read(fields);
        if !fields.has("id") {
            return fields.malformed("id", "is required, to say which pet is replaced");
        }
        let new = new?;
        new.id.map(|id| Replacement(new.with_id(id)))
    }
}

impl Input for Named {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let id = fields.optional("id", rules::id);
        let name = fields.optional("name", rules::text(0..=LONGEST_NAME));
        Some(Named { id: id?, name: name? })
    }
}

impl NewPet {
    pub(crate) fn with_id(self, id: i64) -> Pet {
        let NewPet { id: _, category, name, photo_urls, tags, status } = self;
        Pet { id, category, name, photo_urls, tags, status }
    }
}
