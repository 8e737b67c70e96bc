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
use http::{Method, StatusCode};
use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use web::{Answer, App, RequestContext, Result};

use crate::{
    Sandboxes, api, control,
    gate::FaultGate,
    name::{CONTROL, Name},
    open::{OpenSandbox, being_closed, unknown},
};

/// Where the paths of sandboxes begin.
const SANDBOX: &str = "/sandbox/";

struct Front {
    sandboxes: Sandboxes,
    /// Which of the services it is.
    at: usize,
    root: App,
    /// Creates and lists sandboxes.
    api: App,
}

pub(crate) fn app(sandboxes: &Sandboxes, at: usize, root: App) -> App {
    let api = api::app(sandboxes, at);
    App::new(Arc::new(Front { sandboxes: sandboxes.clone(), at, root, api }))
}

impl Answer for Front {
    fn answer(&self, mut request: Request) -> BoxFuture<'_, Response> {
        let path = request.uri().path();
        if let Some(rest) = web::prefixed_part(path).strip_prefix(SANDBOX) {
            let name = rest.split('/').next().unwrap_or_default();
            return match self.sandboxes.find_fresh(name) {
                Some(sandbox) => answered(self.in_sandbox(sandbox, request)),
                None => answered(self.open_and_answer(Name::new(name), request)),
            };
        }
        if web::strip_prefix(&mut request, api::PATH) {
            return self.api.answer(request).boxed();
        }
        match self.sandboxes.0.root.get() {
            Some(root) if self.sandboxes.is_fresh() && !is_control(root, &request) => {
                self.root_call(root, request)
            }
            Some(root) => answered(self.at_root(root, request)),
            None => self.root.answer(request).boxed(),
        }
    }
}

fn answered<'a>(call: impl Future<Output = Result<Response>> + Send + 'a) -> BoxFuture<'a, Response> {
    call.map(|answer| answer.unwrap_or_else(IntoResponse::into_response)).boxed()
}

impl Front {
    /// A call to a sandbox that this process has not opened yet, or that may have been changed by another process.
    async fn open_and_answer(&self, name: Option<Name>, request: Request) -> Result<Response> {
        let sandbox = self.sandboxes.get(&name.ok_or_else(unknown)?).await?;
        self.in_sandbox(sandbox, request).await
    }

    async fn in_sandbox(&self, sandbox: Arc<OpenSandbox>, request: Request) -> Result<Response> {
        if is_control(&sandbox, &request) {
            // Boxed, here and below: otherwise the future of every call would have room for this rare one.
            return Box::pin(self.control_call(sandbox, request)).await;
        }
        let permit = sandbox.enter()?;
        let answer = self.call(&sandbox, request).await.unwrap_or_else(IntoResponse::into_response);
        if may_have_lost_data(&answer) && sandbox.is_closing() {
            return Err(being_closed());
        }
        Ok(with_permit(answer, permit))
    }

    async fn control_call(&self, sandbox: Arc<OpenSandbox>, request: Request) -> Result<Response> {
        let control = self.control(&sandbox).await;
        let request = without_prefix(request, &sandbox.name);
        let _permit = is_waited_for(&request).then(|| sandbox.enter_control()).transpose()?;
        let closing = sandbox.watch_closing();
        drop(sandbox);
        let answer = control.answer(request).await;
        if may_have_lost_data(&answer) && *closing.borrow() { Err(being_closed()) } else { Ok(answer) }
    }

    async fn at_root(&self, root: &Arc<OpenSandbox>, request: Request) -> Result<Response> {
        self.sandboxes.refresh().await?;
        if is_control(root, &request) {
            let control = self.control(root).await;
            return Ok(control.answer(without_prefix(request, &root.name)).await);
        }
        Ok(self.root_call(root, request).await)
    }

    /// A call to the service of the root. A call without faults needs no future of its own, as the root is always open.
    fn root_call(&self, root: &Arc<OpenSandbox>, mut request: Request) -> BoxFuture<'_, Response> {
        self.observe(root, &mut request);
        match self.gate(root, &request) {
            Some(gate) => async move { gate.finish(self.root.answer(request).await) }.boxed(),
            None => self.root.answer(request).boxed(),
        }
    }

    /// A call to a service of a sandbox.
    async fn call(&self, sandbox: &Arc<OpenSandbox>, mut request: Request) -> Result<Response> {
        self.observe(sandbox, &mut request);
        web::strip_prefix(&mut request, &sandbox.path);
        let service = match sandbox.open_service(self.at) {
            Some(service) => service,
            None => Box::pin(self.sandboxes.service(sandbox, self.at)).await?,
        };
        let gate = self.gate(sandbox, &request);
        let answer = service.app.answer(request).await;
        Ok(match gate {
            Some(gate) => gate.finish(answer),
            None => answer,
        })
    }

    /// Lets the journal of a sandbox record a call, if there are journals.
    fn observe(&self, sandbox: &OpenSandbox, request: &mut Request) {
        if self.sandboxes.0.setup.limits.journal {
            RequestContext::observe(request, sandbox.recorders[self.at].own().clone(), sandbox.clock.now());
        }
    }

    /// Lets the faults of a sandbox decide about a call, if there are any.
    fn gate(&self, sandbox: &Arc<OpenSandbox>, request: &Request) -> Option<Arc<FaultGate>> {
        let name = self.sandboxes.0.setup.services[self.at].service.description().name;
        let gate = FaultGate::of(&self.sandboxes, sandbox, name, request)?;
        RequestContext::set_gate(request.extensions(), gate.clone());
        Some(gate)
    }

    async fn control(&self, sandbox: &OpenSandbox) -> App {
        let make = async || control::app(&self.sandboxes, &sandbox.name, self.at);
        sandbox.control.get_or_init(make).await.clone()
    }
}

/// Whether a call may have lost its data: a deletion does not wait for running calls for long.
fn may_have_lost_data(answer: &Response) -> bool {
    answer.status() == StatusCode::INTERNAL_SERVER_ERROR
}

fn is_control(sandbox: &OpenSandbox, request: &Request) -> bool {
    let inner = request.uri().path().strip_prefix(&*sandbox.path).unwrap_or_default();
    inner.strip_prefix(CONTROL).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a deletion waits for this call of a control: not for itself, and not for a call that follows the journal, which ends when
/// the sandbox is closed.
fn is_waited_for(request: &Request) -> bool {
    let path = request.uri().path();
    let is_deletion = request.method() == Method::DELETE && matches!(path, "" | "/");
    !is_deletion && !path.ends_with("/events")
}

fn without_prefix(mut request: Request, name: &Name) -> Request {
    web::strip_prefix(&mut request, &format!("{}{CONTROL}", name.path()));
    request
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
