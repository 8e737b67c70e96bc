//! The rule for enumerations.

use std::marker::PhantomData;

use db::Word;
use utoipa::{
    ToSchema,
    openapi::{RefOr, schema::Schema},
};

use super::{
    super::{
        field::Field,
        rule::{Components, Describe, Rule},
    },
    object::component,
    text::one_of,
};

/// One of the words of an enumeration, which is a component of the document.
pub fn word<T: Word + ToSchema>() -> WordRule<T> {
    WordRule { inline: false, word: PhantomData }
}

pub struct WordRule<T> {
    inline: bool,
    word: PhantomData<T>,
}

impl<T> WordRule<T> {
    /// The same rule with an inline schema instead of a component.
    #[must_use]
    pub fn inline(self) -> Self {
        WordRule { inline: true, ..self }
    }
}

impl<T: ToSchema> Describe for WordRule<T> {
    fn schema(&self) -> RefOr<Schema> {
        if self.inline { T::schema() } else { component::<T>().schema() }
    }

    fn components(&self, components: &mut Components) {
        if !self.inline {
            component::<T>().components(components);
        }
    }
}

impl<T: Word + ToSchema> Rule for WordRule<T> {
    type Value = T;

    fn read(&self, field: &mut Field<'_>) -> Option<T> {
        one_of(T::WORDS).read(field)
    }
}
