//! A unit of work in a queue: its closure, and the channel for its result.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use crate::{
    deadline::after,
    error::Error,
    tx::{Tx, WriteTx},
};

/// A queued unit. `run` may be called again after a rollback; `answer` is called once, when the outcome is durable.
pub(crate) trait Unit<T: ?Sized>: Send {
    /// Runs the closure; `false` when it failed and its changes must be rolled back.
    fn run(&mut self, tx: &mut T) -> bool;
    /// Sends the outcome of the last `run`.
    fn answer(self: Box<Self>);
    /// Sends this error instead: the unit did not happen.
    fn fail(self: Box<Self>, error: Error);
    /// The time from which an answer is too late, this long after the unit was queued.
    fn deadline(&self, wait: Duration) -> Instant;
    /// Whether the caller was dropped.
    fn is_abandoned(&self) -> bool;
    /// How long it has been in the queue.
    fn waited(&self) -> Duration {
        self.deadline(Duration::ZERO).elapsed()
    }
}

pub(crate) type WriteUnit = Box<dyn for<'c> Unit<WriteTx<'c>>>;
pub(crate) type ReadUnit = Box<dyn for<'c> Unit<Tx<'c>>>;

struct Task<F, R, E> {
    closure: F,
    outcome: Option<Result<R, E>>,
    reply: oneshot::Sender<Result<R, E>>,
    queued: Instant,
}

type Reply<R, E> = oneshot::Receiver<Result<R, E>>;

pub(crate) fn write<R, E, F>(closure: F) -> (WriteUnit, Reply<R, E>)
where
    F: Fn(&mut WriteTx<'_>) -> Result<R, E> + Send + 'static,
    R: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let (reply, receiver) = oneshot::channel();
    (Box::new(Task { closure, outcome: None, reply, queued: Instant::now() }), receiver)
}

pub(crate) fn read<R, E, F>(closure: F) -> (ReadUnit, Reply<R, E>)
where
    F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
    R: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let (reply, receiver) = oneshot::channel();
    (Box::new(Task { closure, outcome: None, reply, queued: Instant::now() }), receiver)
}

macro_rules! unit {
    ($tx:ident) => {
        impl<'c, F, R, E> Unit<$tx<'c>> for Task<F, R, E>
        where
            F: Fn(&mut $tx<'_>) -> Result<R, E> + Send + 'static,
            R: Send + 'static,
            E: From<Error> + Send + 'static,
        {
            fn run(&mut self, tx: &mut $tx<'c>) -> bool {
                let outcome = run_caught(|| (self.closure)(tx));
                let outcome = tx.checked(outcome);
                let succeeded = outcome.is_ok();
                self.outcome = Some(outcome);
                succeeded
            }

            fn answer(self: Box<Self>) {
                let Task { outcome, reply, .. } = *self;
                let outcome = outcome.unwrap_or_else(|| Err(Error::Aborted.into()));
                // The caller may have been dropped; the outcome stays as it is.
                let _ = reply.send(outcome);
            }

            fn fail(self: Box<Self>, error: Error) {
                let _ = self.reply.send(Err(error.into()));
            }

            fn deadline(&self, wait: Duration) -> Instant {
                after(self.queued, wait)
            }

            fn is_abandoned(&self) -> bool {
                self.reply.is_closed()
            }
        }
    };
}

unit!(Tx);
unit!(WriteTx);

/// Runs a closure on a thread that many units share. A panic becomes the error of this unit.
pub(crate) fn run_caught<R, E: From<Error>>(closure: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    catch_unwind(AssertUnwindSafe(closure))
        .unwrap_or_else(|panic| Err(Error::Fault(panic_text(panic.as_ref())).into()))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a unit of work panicked: {}", text.unwrap_or("no message"))
}
