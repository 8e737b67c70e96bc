//! The context of validation: data of the service that rules need, such as the date or the stations.

use std::{any::Any, sync::Arc};

/// The data that rules get by [`Fields::context`](super::Fields::context). A service adds it to its requests as an extension.
#[derive(Clone)]
pub struct ValidationContext {
    data: Arc<dyn Any + Send + Sync>,
    reads_texts: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl ValidationContext {
    pub fn new(context: impl Any + Send + Sync) -> Self {
        ValidationContext { data: Arc::new(context), reads_texts: None }
    }

    /// The same; while `condition` holds, a text in JSON is read as the number or boolean that it says.
    #[must_use]
    pub fn reading_texts_if(self, condition: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        ValidationContext { reads_texts: Some(Arc::new(condition)), ..self }
    }

    pub(super) fn reads_texts(&self) -> bool {
        self.reads_texts.as_ref().is_some_and(|condition| condition())
    }

    pub(super) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.data.clone().downcast().ok()
    }
}
