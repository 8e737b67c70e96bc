//! The application of a listener: sends each request to the sandbox that its path names, or to the root service.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt, future::BoxFuture};
use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use web::{Answer, App, Result};

use crate::{Sandboxes, api, control, name::Name, open::unknown};

/// Where the paths of sandboxes begin.
const SANDBOX: &str = "/sandbox/";

/// Where the controls of a sandbox are, below its path.
pub(crate) const CONTROL: &str = "/_control";

struct Front {
    sandboxes: Sandboxes,
    /// Which of the services it is.
    at: usize,
    root: App,
    /// Creates and lists sandboxes.
    api: App,
}

pub(crate) fn app(sandboxes: &Sandboxes, service: &str, root: App) -> App {
    let services = &sandboxes.0.setup.services;
    let Some(at) = services.iter().position(|setup| setup.service.description().name == service) else {
        return root;
    };
    let api = api::app(sandboxes, at);
    App::new(Arc::new(Front { sandboxes: sandboxes.clone(), at, root, api }))
}

impl Answer for Front {
    fn answer(&self, mut request: Request) -> BoxFuture<'_, Response> {
        let path = request.uri().path();
        let sandbox = web::prefixed_part(path).strip_prefix(SANDBOX);
        if let Some(rest) = sandbox {
            let name = Name::new(rest.split('/').next().unwrap_or_default());
            return async move {
                self.in_sandbox(name, request).await.unwrap_or_else(IntoResponse::into_response)
            }
            .boxed();
        }
        match web::strip_prefix(&mut request, api::PATH) {
            true => self.api.answer(request).boxed(),
            false => self.root.answer(request).boxed(),
        }
    }
}

impl Front {
    async fn in_sandbox(&self, name: Option<Name>, mut request: Request) -> Result<Response> {
        let name = name.ok_or_else(unknown)?;
        let sandbox = self.sandboxes.get(&name).await?;
        let permit = sandbox.enter()?;
        let is_control = {
            let path = request.uri().path();
            let inner = path.strip_prefix(&name.path()).unwrap_or_default();
            inner.strip_prefix(CONTROL).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if is_control {
            let make = async || control::app(&self.sandboxes, &name, self.at);
            let control = sandbox.control.get_or_init(make).await.clone();
            web::strip_prefix(&mut request, &format!("{}{CONTROL}", name.path()));
            // The call may delete the sandbox, which waits for all calls and closes its databases.
            drop((permit, sandbox));
            return Ok(control.answer(request).await);
        }
        web::strip_prefix(&mut request, &name.path());
        let response = self.sandboxes.service(&sandbox, self.at).await?.app.answer(request).await;
        Ok(with_permit(response, permit))
    }
}

/// A streamed answer keeps the permit of its call until it has been sent: it reads from the database.
fn with_permit(response: Response, permit: OwnedSemaphorePermit) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| Body::new(BodyWithPermit { body, _permit: permit }))
}

struct BodyWithPermit {
    body: Body,
    _permit: OwnedSemaphorePermit,
}

impl HttpBody for BodyWithPermit {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
