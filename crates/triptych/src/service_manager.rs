//! Tells systemd that the program is ready, that it stops, and that it still runs (`Type=notify`). Without systemd nothing happens.

use std::future::pending;

use sd_notify::NotifyState;

pub(crate) fn say_ready() {
    say(NotifyState::Ready);
}

pub(crate) fn say_stopping() {
    say(NotifyState::Stopping);
}

/// Says twice in the time of the watchdog that the program runs. The tasks that answer requests run on the same threads, so it is
/// silent when they are stuck.
pub(crate) async fn keep_watchdog() {
    let Some(time) = sd_notify::watchdog_enabled() else { return pending().await };
    let mut every = tokio::time::interval(time / 2);
    loop {
        every.tick().await;
        say(NotifyState::Watchdog);
    }
}

fn say(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "the service manager cannot be reached");
    }
}
