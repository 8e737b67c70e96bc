//! An adapter between the clients of another server and a service.

use axum::{extract::Request, response::Response};

/// Changes requests before their operation is found, and the answers of the API before they are sent.
pub trait Adapter: Send + Sync {
    fn request(&self, request: &mut Request);

    fn response(&self, response: &mut Response);
}
