//! A processor that breaks off where a test says, around the sandbox that does the work.

use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, pending};
use tokio::sync::Notify;
use train::{Charge, Outcome, Processor, ProcessorUnavailable, Sandbox};
use uuid::Uuid;

/// Where it breaks off, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    BeforeCharge,
    AfterCharge,
    BeforeFind,
    AfterFind,
    BeforeRefund,
    AfterRefund,
}

/// What happens there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The connection breaks: the result is unknown.
    Unreachable,
    /// No response comes, and the test drops the caller: a crash.
    Crash,
    /// It continues on a signal of the test.
    Wait,
}

/// Where and how the processor breaks off, as a test sets it.
#[derive(Clone, Default)]
pub(crate) struct Script(Arc<State>);

#[derive(Default)]
struct State {
    next: Mutex<Option<(Break, How)>>,
    reached: Notify,
    go_on: Notify,
}

impl Script {
    pub(crate) fn will(&self, at: Break, how: How) {
        *self.0.next.lock().unwrap() = Some((at, how));
    }

    /// There are no more crash points.
    pub(crate) fn clear(&self) {
        *self.0.next.lock().unwrap() = None;
    }

    /// Waits until the processor is where it breaks off.
    pub(crate) async fn reached(&self) {
        self.0.reached.notified().await;
    }

    pub(crate) fn go_on(&self) {
        self.0.go_on.notify_one();
    }

    async fn pass(&self, here: Break) -> Result<(), ProcessorUnavailable> {
        let how = {
            let mut next = self.0.next.lock().unwrap();
            next.take_if(|(at, _)| *at == here).map(|(_, how)| how)
        };
        match how {
            None => Ok(()),
            Some(How::Unreachable) => Err(ProcessorUnavailable("the wire broke".into())),
            Some(How::Crash) => {
                self.0.reached.notify_one();
                pending().await
            }
            Some(How::Wait) => {
                self.0.reached.notify_one();
                self.0.go_on.notified().await;
                Ok(())
            }
        }
    }
}

pub(crate) struct Fragile {
    pub(crate) sandbox: Sandbox,
    pub(crate) script: Script,
}

impl Processor for Fragile {
    fn charge<'a>(&'a self, charge: &'a Charge<'a>) -> BoxFuture<'a, Result<Outcome, ProcessorUnavailable>> {
        Box::pin(async move {
            self.script.pass(Break::BeforeCharge).await?;
            let outcome = self.sandbox.charge(charge).await?;
            self.script.pass(Break::AfterCharge).await?;
            Ok(outcome)
        })
    }

    fn find(&self, payment: Uuid) -> BoxFuture<'_, Result<Outcome, ProcessorUnavailable>> {
        Box::pin(async move {
            self.script.pass(Break::BeforeFind).await?;
            let outcome = self.sandbox.find(payment).await?;
            self.script.pass(Break::AfterFind).await?;
            Ok(outcome)
        })
    }

    fn refund(&self, payment: Uuid) -> BoxFuture<'_, Result<(), ProcessorUnavailable>> {
        Box::pin(async move {
            self.script.pass(Break::BeforeRefund).await?;
            self.sandbox.refund(payment).await?;
            self.script.pass(Break::AfterRefund).await
        })
    }
}
