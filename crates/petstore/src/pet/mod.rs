//! Pets: the type and its rules.

pub(crate) mod api;
pub(crate) mod find;
pub(crate) mod photos;
pub(crate) mod store;
#[cfg(test)]
mod view_tests;

use model::{Resource, Words};
use serde::Deserialize;
use web::problem::UNPROCESSABLE;

pub(crate) const LONGEST_NAME: usize = 200;

/// A pet in the store.
#[derive(Debug, Clone, Default, PartialEq, Resource)]
#[resource(case = "camelCase", xml = "pet", list = "pets", form, broken = UNPROCESSABLE, table)]
#[resource(new = NewPet, new_name = "PetInput", new_doc = "A pet as a client sends it.", replace = PetUpdate)]
pub(crate) struct Pet {
    #[field(assigned, example = 10)]
    pub(crate) id: i64,
    #[field(json)]
    pub(crate) category: Option<Category>,
    #[field(rule = text(1..=LONGEST_NAME), example = "doggie")]
    pub(crate) name: String,
    #[field(items = 0..=photos::MOST, each = text(1..=2000), element = "photoUrl", json)]
    pub(crate) photo_urls: Vec<String>,
    #[field(items = 0..=100, json)]
    pub(crate) tags: Option<Vec<Tag>>,
    pub(crate) status: Option<Status>,
}

/// A category of pets.
#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(xml = "category", readable)]
pub(crate) struct Category {
    #[field(example = 1)]
    pub(crate) id: Option<i64>,
    #[field(rule = text(0..=LONGEST_NAME), example = "Dogs")]
    pub(crate) name: Option<String>,
}

/// A tag on a pet.
#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(xml = "tag", readable)]
pub(crate) struct Tag {
    #[field(example = 1)]
    pub(crate) id: Option<i64>,
    #[field(rule = text(0..=LONGEST_NAME), example = "tag1")]
    pub(crate) name: Option<String>,
}

/// The status of a pet in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
pub(crate) enum Status {
    Available,
    Pending,
    Sold,
}
