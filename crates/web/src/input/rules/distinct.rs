//! The rule for objects of a list with a unique member.

use std::{cell::RefCell, collections::HashSet, hash::Hash};

use utoipa::openapi::{RefOr, schema::Schema};

use super::super::{
    field::{Field, Validation},
    rule::{Components, Describe, Rule},
};

/// See [`distinct`].
pub struct Distinct<R, M: Rule> {
    object: R,
    member: &'static str,
    rule: M,
    message: &'static str,
    /// The values of the previous objects. Each list that is read has its own rule.
    seen: RefCell<HashSet<M::Value>>,
}

/// The rule for objects of a list that must not have equal values of a member. The message is the validation error of the
/// second object.
pub fn distinct<R: Rule, M: Rule<Value: Eq + Hash>>(
    object: R,
    member: &'static str,
    rule: M,
    message: &'static str,
) -> Distinct<R, M> {
    Distinct { object, member, rule, message, seen: RefCell::default() }
}

impl<R, M: Rule> Distinct<R, M> {
    /// The member's value. Its validation errors were added when the object was read.
    fn value(&self, field: &Field<'_>) -> Option<M::Value> {
        let mut noted = Validation { context: field.validation.context.clone(), ..Validation::default() };
        let mut object = Field { raw: field.raw, pointer: field.pointer.clone(), validation: &mut noted };
        object.fields()?.sent(self.member, &self.rule)?
    }
}

impl<R: Describe, M: Rule> Describe for Distinct<R, M> {
    fn schema(&self) -> RefOr<Schema> {
        self.object.schema()
    }

    fn components(&self, components: &mut Components) {
        self.object.components(components);
    }
}

impl<R: Rule, M: Rule<Value: Eq + Hash>> Rule for Distinct<R, M> {
    type Value = R::Value;

    fn read(&self, field: &mut Field<'_>) -> Option<R::Value> {
        let object = self.object.read(field);
        if let Some(value) = self.value(field)
            && !self.seen.borrow_mut().insert(value)
        {
            field.fields()?.fail::<()>(self.member, self.message);
        }
        object
    }
}
