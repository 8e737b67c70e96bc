//! A unit of work on its way through a queue: what to run, and whom to tell.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use crate::{Error, Tx, WriteTx};

/// What a queue holds. `run` may be called again after a roll-back; `answer` is called once, when the outcome
/// is durable.
pub(crate) trait Unit<T: ?Sized>: Send {
    /// Runs the closure; `false` when it failed and must be rolled back.
    fn run(&mut self, tx: &mut T) -> bool;
    /// Sends what the last `run` gave.
    fn answer(self: Box<Self>);
    /// Sends this instead: the unit did not happen.
    fn refuse(self: Box<Self>, error: Error);
    /// So long after it was queued: its caller has a client waiting, and a later answer is of no use.
    fn deadline(&self, wait: Duration) -> Instant;
    /// Whether nobody waits for it any more.
    fn abandoned(&self) -> bool;
}

pub(crate) type WriteUnit = Box<dyn for<'c> Unit<WriteTx<'c>>>;
pub(crate) type ReadUnit = Box<dyn for<'c> Unit<Tx<'c>>>;

struct Task<F, R, E> {
    work: F,
    outcome: Option<Result<R, E>>,
    reply: oneshot::Sender<Result<R, E>>,
    queued: Instant,
}

type Reply<R, E> = oneshot::Receiver<Result<R, E>>;

pub(crate) fn write<R, E, F>(work: F) -> (WriteUnit, Reply<R, E>)
where
    F: Fn(&mut WriteTx<'_>) -> Result<R, E> + Send + 'static,
    R: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let (reply, receiver) = oneshot::channel();
    (Box::new(Task { work, outcome: None, reply, queued: Instant::now() }), receiver)
}

pub(crate) fn read<R, E, F>(work: F) -> (ReadUnit, Reply<R, E>)
where
    F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
    R: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let (reply, receiver) = oneshot::channel();
    (Box::new(Task { work, outcome: None, reply, queued: Instant::now() }), receiver)
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
                let outcome = run_caught(|| (self.work)(tx));
                let outcome = tx.checked(outcome);
                let fine = outcome.is_ok();
                self.outcome = Some(outcome);
                fine
            }

            fn answer(self: Box<Self>) {
                let Task { outcome, reply, .. } = *self;
                let outcome = outcome.unwrap_or_else(|| Err(Error::Aborted.into()));
                // The caller may have gone; the work is done all the same.
                let _ = reply.send(outcome);
            }

            fn refuse(self: Box<Self>, error: Error) {
                let _ = self.reply.send(Err(error.into()));
            }

            fn deadline(&self, wait: Duration) -> Instant {
                after(self.queued, wait)
            }

            fn abandoned(&self) -> bool {
                self.reply.is_closed()
            }
        }
    };
}

unit!(Tx);
unit!(WriteTx);

/// So long after a time; a wait that no clock can tell is a year.
pub(crate) fn after(start: Instant, wait: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    start.checked_add(wait).unwrap_or(start + YEAR)
}

/// Runs a closure of a service's on a thread that many share: its panic is its own failure, not theirs.
pub(crate) fn run_caught<R, E: From<Error>>(work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Error::Fault(panic_text(panic.as_ref())).into()))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a unit of work panicked: {}", text.unwrap_or("no message"))
}
