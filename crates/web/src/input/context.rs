//! The context of validation: data of the service that rules need, such as the date or the stations.

use std::{any::Any, sync::Arc};

/// The data that rules get by [`Fields::context`](super::Fields::context). A service adds it to its requests as an extension.
#[derive(Clone)]
pub struct ValidationContext(Arc<dyn Any + Send + Sync>);

impl ValidationContext {
    pub fn new(context: impl Any + Send + Sync) -> Self {
        ValidationContext(Arc::new(context))
    }

    pub(super) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.clone().downcast().ok()
    }
}
