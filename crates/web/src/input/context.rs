//! The context of validation: what rules need to know of the service, such as the date or the stations.

use std::{any::Any, sync::Arc};

/// What rules may ask for by [`Fields::context`](super::Fields::context). A service gives it to its requests as an extension.
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
