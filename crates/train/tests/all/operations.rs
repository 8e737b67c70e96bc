//! The operations of the OpenAPI document, for tests that must cover all of them.

use http::Method;
use serde_json::Value;

use crate::fixture::{ADDRESS, HOLD, NOTHING};

/// An operation of the document, with a path that can be called.
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) id: String,
    /// What the document says of it.
    pub(crate) document: Value,
}

impl Operation {
    /// The scope that it needs.
    pub(crate) fn scope(&self) -> &str {
        self.document["security"][0]["OAuth2"][0].as_str().unwrap()
    }
}

/// Every operation of the document. Ids in paths are unknown ones.
pub(crate) fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in document()["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let path = ["{stationId}", "{tripId}", "{bookingId}", "{webhookId}", "{inboxId}"]
                .iter()
                .fold(path.clone(), |path, name| path.replace(name, NOTHING));
            operations.push(Operation {
                method: method.to_uppercase().parse().unwrap(),
                path,
                id: operation["operationId"].as_str().unwrap().to_owned(),
                document: operation.clone(),
            });
        }
    }
    operations
}

pub(crate) fn document() -> Value {
    serde_json::from_str(&web::document_text(&train::openapi(ADDRESS, HOLD))).unwrap()
}
