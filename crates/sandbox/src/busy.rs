//! Work that a sandbox does once at a time: otherwise one sandbox could keep the others waiting, or pass a limit by calls at the same
//! time.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use web::{Problem, Result, problem::TOO_MANY_REQUESTS};

use crate::name::Name;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    KeyRotation,
    Snapshot,
}

/// Which sandboxes are doing which work in this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Busy(Arc<Mutex<HashSet<(Work, String)>>>);

/// Work of a sandbox that has begun; it has ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Begun {
    busy: Busy,
    key: (Work, String),
}

impl Busy {
    /// Begins work of a sandbox, unless the sandbox does such work already.
    pub(crate) fn begin(&self, work: Work, sandbox: &Name) -> Result<Begun> {
        let key = (work, sandbox.to_string());
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone()) {
            return Ok(Begun { busy: self.clone(), key });
        }
        let detail = match work {
            Work::KeyRotation => {
                "The keys of this sandbox are being rotated. Try again when that call has ended."
            }
            Work::Snapshot => {
                "A snapshot of this sandbox is being saved. Try again when that call has ended."
            }
        };
        Err(Problem::new(&TOO_MANY_REQUESTS, detail).retry_after(1))
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.busy.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sandbox_does_each_work_once_at_a_time() {
        let (busy, ada, bob) = (Busy::default(), Name::new("ada").unwrap(), Name::new("bob").unwrap());
        let rotation = busy.begin(Work::KeyRotation, &ada).unwrap();
        let refused = busy.begin(Work::KeyRotation, &ada).unwrap_err();
        assert_eq!(refused.status().as_u16(), 429);
        assert!(busy.begin(Work::KeyRotation, &bob).is_ok());
        assert!(busy.begin(Work::Snapshot, &ada).is_ok());
        drop(rotation);
        assert!(busy.begin(Work::KeyRotation, &ada).is_ok());
    }
}
