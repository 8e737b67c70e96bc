//! Faults on purpose: what the fault rules of a sandbox, or the header `Prefer` of a call, do to calls and deliveries.

use std::{
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{extract::Request, response::Response};
use futures_util::{FutureExt, future::BoxFuture};
use http::{HeaderName, Method, header};
use uuid::Uuid;
use web::{DeliveryFault, DeliveryGate, Gate, Problem, Random, RequestContext, Result, problem::UNAVAILABLE};

use crate::{
    Inner, Sandboxes,
    fault::{CallInfo, Decision, Known, Preferred, Rules, WebhookFault, preferred},
    name::Name,
    open::{OpenSandbox, being_closed},
    store,
};

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Decides which fault one call gets.
pub(crate) struct FaultGate {
    sandboxes: Sandboxes,
    sandbox: Arc<OpenSandbox>,
    rules: Arc<Rules>,
    preferred: Option<Preferred>,
    service: &'static str,
    method: Method,
    path: Box<str>,
    address: IpAddr,
    operation: Mutex<Option<Box<str>>>,
    /// Whether the rules that name a caller were asked.
    asked: AtomicBool,
    decision: Mutex<Option<Decision>>,
}

impl FaultGate {
    /// The gate of a call, if any fault is possible. The path of the request is without the prefix of the sandbox.
    pub(crate) fn of(
        sandboxes: &Sandboxes,
        sandbox: &Arc<OpenSandbox>,
        service: &'static str,
        request: &Request,
    ) -> Option<Arc<Self>> {
        let preferred = preferred(request.headers());
        let rules = sandbox.faults();
        if preferred.is_none() && rules.is_none() {
            return None;
        }
        let context = RequestContext::of(request.extensions())?;
        Some(Arc::new(FaultGate {
            sandboxes: sandboxes.clone(),
            sandbox: sandbox.clone(),
            rules: rules.unwrap_or_default(),
            preferred,
            service,
            method: request.method().clone(),
            path: request.uri().path().into(),
            address: context.client_ip(),
            operation: Mutex::default(),
            asked: AtomicBool::new(false),
            decision: Mutex::default(),
        }))
    }

    /// The answer with the fault of its connection or of its body.
    pub(crate) fn finish(&self, answer: Response) -> Response {
        let decision = self.decision.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(decision) = decision else { return answer };
        let mut answer = decision.apply_to(answer);
        if let Some(preferred) = &self.preferred {
            let headers = answer.headers_mut();
            headers.insert(PREFERENCE_APPLIED, preferred.applied.clone());
            // So that pages can read it.
            headers.append(header::ACCESS_CONTROL_EXPOSE_HEADERS, PREFERENCE_APPLIED.into());
        }
        answer
    }

    async fn decide(&self, known: Known<'_>) -> Result<()> {
        let operation = self.operation.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let call = CallInfo {
            service: self.service,
            operation: operation.as_deref(),
            method: &self.method,
            path: &self.path,
            address: self.address,
            known,
        };
        let matching = self.rules.matching(&call);
        let numbers = self.sandboxes.count_call(&self.sandbox.name, matching.counted().collect()).await?;
        let random = self.sandboxes.random_numbers();
        let decision = matching.decide(|rule| number_of(&numbers, rule), random);
        if decision.is_nothing() { Ok(()) } else { self.apply(decision).await }
    }

    /// Lets the call wait, and rejects it if its work is not to be done.
    async fn apply(&self, decision: Decision) -> Result<()> {
        let (delay, status, does_work) = (decision.delay, decision.status.clone(), decision.does_work());
        *self.decision.lock().unwrap_or_else(PoisonError::into_inner) = Some(decision);
        if delay > Duration::ZERO {
            let _permit = self.sandbox.wait_on_purpose()?;
            web::release_admission();
            tokio::select! {
                () = self.sandboxes.wait(delay) => {}
                () = self.sandbox.closing() => {
                    return Err(being_closed());
                }
            }
        }
        match status {
            Some(status) => Err(status.problem()),
            None if does_work => Ok(()),
            // The connection is closed before the client gets it.
            None => Err(Problem::new(&UNAVAILABLE, "The connection is closed on purpose.")),
        }
    }
}

impl Gate for FaultGate {
    fn before<'a>(&'a self, operation: Option<&'a str>) -> BoxFuture<'a, Result<()>> {
        async move {
            if let Some(preferred) = &self.preferred {
                return self.apply(preferred.decision.clone()).await;
            }
            *self.operation.lock().unwrap_or_else(PoisonError::into_inner) = operation.map(Box::from);
            self.decide(Known::Address).await
        }
        .boxed()
    }

    fn signed_in<'a>(&'a self, user: Option<&'a str>, client: Option<&'a str>) -> BoxFuture<'a, Result<()>> {
        async move {
            let is_decided = self.decision.lock().unwrap_or_else(PoisonError::into_inner).is_some();
            if is_decided || self.asked.swap(true, Ordering::Relaxed) {
                return Ok(());
            }
            self.decide(Known::Names { user, client }).await
        }
        .boxed()
    }
}

/// The numbers of a call for the rules that are counted.
type Numbers = Vec<(Uuid, u64)>;

fn number_of(numbers: &Numbers, rule: Uuid) -> u64 {
    numbers.iter().find(|(id, _)| *id == rule).map_or(1, |(_, number)| *number)
}

impl Sandboxes {
    /// Counts a call or a delivery for these rules. All processes count together.
    async fn count_call(&self, name: &Name, rules: Vec<Uuid>) -> Result<Numbers, db::Error> {
        if rules.is_empty() {
            return Ok(Vec::new());
        }
        let (name, counted) = (name.to_string(), rules.clone());
        let numbers: Vec<i64> =
            self.0.registry.write(move |tx| store::count_call(tx, &name, &counted)).await?;
        let numbers = numbers.into_iter().map(|number| u64::try_from(number).unwrap_or_default());
        Ok(rules.into_iter().zip(numbers).collect())
    }

    fn random_numbers(&self) -> impl FnMut() -> u64 + use<> {
        let random: Random = self.0.setup.random.clone();
        move || u64::from_le_bytes(random.bytes())
    }

    /// Decides which deliveries of a service of a sandbox fail.
    pub(crate) fn delivery_gate(&self, name: &Name, service: &'static str) -> DeliveryGate {
        // Not the sandbox itself: it holds the service, which holds the gate.
        let (inner, name) = (Arc::downgrade(&self.0), name.clone());
        DeliveryGate(Arc::new(move || delivery_fault(inner.clone(), name.clone(), service).boxed()))
    }
}

async fn delivery_fault(inner: Weak<Inner>, name: Name, service: &'static str) -> Option<DeliveryFault> {
    let sandboxes = Sandboxes(inner.upgrade()?);
    let rules = sandboxes.find(&name)?.faults()?;
    let matching = rules.matching_delivery(service);
    let numbers = sandboxes.count_call(&name, matching.counted().collect()).await;
    let numbers = numbers.unwrap_or_else(|error| {
        tracing::warn!(%error, sandbox = %name, "a delivery was not counted for the fault rules");
        Vec::new()
    });
    let fault = matching.decide_delivery(|rule| number_of(&numbers, rule), sandboxes.random_numbers())?;
    Some(match fault {
        WebhookFault::Status(status) => DeliveryFault::Status(status),
        WebhookFault::Timeout => DeliveryFault::Timeout,
    })
}
