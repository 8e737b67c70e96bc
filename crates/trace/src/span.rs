//! Spans, from their start until they are recorded.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use crate::{
    context::TraceContext,
    queue::Queue,
    recorded::{Kind, Recorded, Value},
};

/// Starts spans. Cloning it is cheap.
#[derive(Clone)]
pub struct Traces(Arc<Inner>);

/// Fills bytes with random values.
type Random = Box<dyn Fn(&mut [u8]) + Send + Sync>;

struct Inner {
    random: Random,
    sample_ratio: f64,
    queue: Arc<Queue>,
}

impl Traces {
    pub(crate) fn new(
        sample_ratio: f64,
        queue: Arc<Queue>,
        random: impl Fn(&mut [u8]) + Send + Sync + 'static,
    ) -> Self {
        Traces(Arc::new(Inner { random: Box::new(random), sample_ratio, queue }))
    }

    /// Starts a span of a service. It continues the trace of its parent, recorded or not; without a parent it starts a trace, of
    /// which a part is recorded.
    pub fn span(
        &self,
        service: &'static str,
        kind: Kind,
        name: impl Into<String>,
        parent: Option<&TraceContext>,
    ) -> Span {
        let context = match parent {
            Some(parent) => parent.with_span(self.id()),
            None => {
                let trace_id: [u8; 16] = self.id();
                TraceContext::new(trace_id, self.id(), self.is_sampled(&trace_id))
            }
        };
        let recorded = context.is_sampled().then(|| Recorded {
            service,
            kind,
            name: name.into(),
            context: context.clone(),
            parent: parent.map(|parent| parent.span_id),
            start: machine_time(),
            started: Instant::now(),
            took: Duration::ZERO,
            attributes: Vec::new(),
            failed: false,
        });
        Span(Box::new(Open { traces: self.clone(), context, recorded }))
    }

    fn id<const N: usize>(&self) -> [u8; N] {
        let mut id = [0; N];
        // All zeros is not an id.
        while id == [0; N] {
            (self.0.random)(&mut id);
        }
        id
    }

    /// Whether a new trace is recorded. Its id decides.
    fn is_sampled(&self, trace_id: &[u8; 16]) -> bool {
        let [.., a, b, c, d] = *trace_id;
        f64::from(u32::from_be_bytes([a, b, c, d])) < self.0.sample_ratio * 2f64.powi(32)
    }
}

/// A span. It ends when it is dropped.
pub struct Span(Box<Open>);

struct Open {
    traces: Traces,
    context: TraceContext,
    /// `None` if it is only passed on.
    recorded: Option<Recorded>,
}

impl Span {
    /// What calls pass on within the span.
    pub fn context(&self) -> &TraceContext {
        &self.0.context
    }

    pub fn is_recorded(&self) -> bool {
        self.0.recorded.is_some()
    }

    pub fn rename(&mut self, name: String) {
        if let Some(recorded) = &mut self.0.recorded {
            recorded.name = name;
        }
    }

    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        if let Some(recorded) = &mut self.0.recorded {
            recorded.attributes.push((name, value.into()));
        }
    }

    /// Says that it failed, with the kind of error.
    pub fn fail(&mut self, error: impl Into<Value>) {
        self.set("error.type", error);
        if let Some(recorded) = &mut self.0.recorded {
            recorded.failed = true;
        }
    }

    /// Runs a future within the span, so that [`child`] finds it.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let Open { traces, context, recorded } = &*self.0;
        let current = recorded.as_ref().map(|recorded| Current {
            traces: traces.clone(),
            service: recorded.service,
            context: context.clone(),
        });
        CURRENT.scope(current, future)
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(mut recorded) = self.0.recorded.take() {
            recorded.took = recorded.started.elapsed();
            self.0.traces.0.queue.push(recorded);
        }
    }
}

/// The span that a task works for.
struct Current {
    traces: Traces,
    service: &'static str,
    context: TraceContext,
}

tokio::task_local! {
    static CURRENT: Option<Current>;
}

/// Starts a span within the one that this task works for; `None` if there is none.
pub fn child(kind: Kind, name: &'static str) -> Option<Span> {
    let start = |current: &Option<Current>| {
        let Current { traces, service, context } = current.as_ref()?;
        Some(traces.span(service, kind, name, Some(context)))
    };
    CURRENT.try_with(start).ok().flatten()
}

fn machine_time() -> SystemTime {
    #[expect(
        clippy::disallowed_methods,
        reason = "spans have the time of the machine, also where a service has another"
    )]
    SystemTime::now()
}
