//! Waits for a condition without a notification.

use std::{future::Future, panic::Location, time::Duration};

use tokio::time::{interval, timeout};

/// Often enough for a test, and seldom enough to leave the processors to the others.
const PAUSE: Duration = Duration::from_millis(10);
/// Only a failing test waits this long.
const LONGEST: Duration = Duration::from_secs(60);

/// Waits until a condition holds for which there is no notification, such as a row that a background task writes. Fails after a minute.
#[track_caller]
pub fn until(mut holds: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    let caller = Location::caller();
    async move {
        let mut looks = interval(PAUSE);
        let wait = async {
            while !holds().await {
                looks.tick().await;
            }
        };
        if timeout(LONGEST, wait).await.is_err() {
            panic!("{caller}: the condition does not hold after {LONGEST:?}");
        }
    }
}
