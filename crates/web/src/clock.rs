//! The clock. Code that needs the time gets a [`Clock`], so that a test can move it.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

/// The clock of a service: that of the machine, or a manual one that a test moves.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Manual(Arc<watch::Sender<Timestamp>>),
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Clock(Source::System)
    }

    /// A manual clock that starts at `start`.
    pub fn manual(start: Timestamp) -> Self {
        Clock(Source::Manual(Arc::new(watch::Sender::new(start))))
    }

    pub fn now(&self) -> Timestamp {
        match &self.0 {
            #[expect(clippy::disallowed_methods, reason = "this is the one place that asks")]
            Source::System => Timestamp::now(),
            Source::Manual(time) => *time.borrow(),
        }
    }

    /// Moves a manual clock, and wakes the tasks that wait on it.
    ///
    /// # Panics
    /// On the machine's clock, and past the last time that can be represented.
    pub fn advance(&self, by: SignedDuration) {
        let Source::Manual(time) = &self.0 else { panic!("only a manual clock can be moved") };
        time.send_modify(|now| *now += by);
    }

    /// Waits until the clock shows `due` or later.
    pub async fn wait_until(&self, due: Timestamp) {
        match &self.0 {
            // The machine's clock may be set while we wait, so no wait is longer than a minute.
            Source::System => loop {
                let left = due.duration_since(self.now());
                let Ok(left) = Duration::try_from(left) else { return };
                if left.is_zero() {
                    return;
                }
                #[expect(clippy::disallowed_methods, reason = "this is how one waits on the clock")]
                tokio::time::sleep(left.min(Duration::from_secs(60))).await;
            },
            Source::Manual(time) => {
                // This clock owns the sender, so the channel cannot close during the wait.
                let _ = time.subscribe().wait_for(|now| *now >= due).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn manual_clock_wakes_a_waiting_task_when_it_is_moved() {
        let start: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let clock = Clock::manual(start);
        assert_eq!(clock.now(), start);
        let due = start + SignedDuration::from_hours(1);
        let waiting = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.wait_until(due).await;
                clock.now()
            }
        });
        clock.advance(SignedDuration::from_mins(59));
        assert!(!waiting.is_finished());
        clock.advance(SignedDuration::from_mins(1));
        assert_eq!(waiting.await.unwrap(), due);
    }

    #[tokio::test]
    async fn system_clock_does_not_wait_for_a_past_time() {
        let clock = Clock::system();
        clock.wait_until(clock.now() - SignedDuration::from_secs(5)).await;
    }
}
