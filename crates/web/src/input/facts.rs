//! What a service knows without asking its database, for rules that need it: what day it is, which stations there are.

use std::{any::Any, sync::Arc};

/// What rules may ask for by [`Fields::facts`](super::Fields::facts). A service gives it to its requests as an extension.
#[derive(Clone)]
pub struct Facts(Arc<dyn Any + Send + Sync>);

impl Facts {
    pub fn new(facts: impl Any + Send + Sync) -> Self {
        Facts(Arc::new(facts))
    }

    pub(super) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.clone().downcast().ok()
    }
}
