//! Which reads need a snapshot.
//!
//! A read of one statement is consistent by itself; a read of several needs a transaction around them. Nobody
//! has to say which it is: a read starts as one statement, and the first time a second one comes the closure
//! is begun anew in a snapshot. The call site is remembered (every closure has a type of its own), so this
//! happens once per site and process.

use std::{
    any::TypeId,
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock},
};

use crate::tx::Scope;

#[derive(Clone, Default)]
pub(crate) struct Sites(Arc<RwLock<HashSet<TypeId>>>);

impl Sites {
    pub(crate) fn scope(&self, site: TypeId) -> Scope {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if known.contains(&site) { Scope::Transaction } else { Scope::Statement }
    }

    pub(crate) fn need_snapshot(&self, site: TypeId) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(site);
    }
}
