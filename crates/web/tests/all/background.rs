//! Background tasks: they are restarted after a failure, and the service is not ready until then.

use std::{
    cell::{Cell, RefCell},
    future::pending,
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, Waker},
};

use crate::support::{sample, serve, soon};
use http::Method;
use jiff::SignedDuration;
use testkit::{Client, Engine, Server, Store};
use tokio::sync::{mpsc, oneshot};
use web::{Background, Clock, ClockState, Reply, Service, openapi::Handlers};

/// A service with nothing but its background tasks.
async fn start(background: &Background) -> (Store, Server, Client) {
    let store = Store::new(Engine::Sqlite);
    let api = Handlers::new().on(Method::GET, "/v1/one", async || Reply(1));
    let service = Service { api, background: background.clone(), ..sample(&store) };
    let (server, client) = serve(service.into_app()).await;
    (store, server, client)
}

fn manual() -> Clock {
    Clock::manual("2026-05-13T10:00:00Z".parse().unwrap())
}

/// Runs a task until it waits. No timer wakes it in these tests.
fn step(task: Pin<&mut impl Future<Output = ()>>) -> Poll<()> {
    task.poll(&mut Context::from_waker(Waker::noop()))
}

async fn is_down(client: &Client, tasks: &str) {
    let answer = client.get("/readyz").send().await;
    let detail = format!("A background task of this service is down, and is started again: {tasks}.");
    assert_eq!(answer.is_problem(503, "unavailable"), detail);
    assert_eq!(answer.header("retry-after"), "5");
    client.get("/healthz").send().await.has_status(200);
}

async fn is_ready(client: &Client) {
    assert_eq!(client.get("/readyz").send().await.has_status(200).text(), "ready\n");
}

/// A command to a test task.
enum Order {
    Panic,
    End,
}

#[tokio::test]
async fn task_that_panics_or_ends_is_down_until_it_is_restarted() {
    let (clock, starts) = (manual(), Rc::new(Cell::new(0)));
    let background = Background::new("sample", clock.clone());
    let (_store, _server, client) = start(&background).await;
    let (orders, received) = mpsc::unbounded_channel();
    let received = Rc::new(tokio::sync::Mutex::new(received));
    let work = |_| {
        let (starts, received) = (starts.clone(), received.clone());
        async move {
            starts.set(starts.get() + 1);
            match received.lock().await.recv().await.unwrap() {
                Order::Panic => panic!("the seats do not add up"),
                Order::End => {}
            }
        }
    };
    let mut kept = pin!(background.keep("sweeper", pending(), work));
    assert!(step(kept.as_mut()).is_pending());
    is_ready(&client).await;

    // Down for longer each time, up to a minute.
    for (order, seconds, started) in [
        (Order::Panic, 1, 1),
        (Order::End, 2, 2),
        (Order::Panic, 4, 3),
        (Order::Panic, 8, 4),
        (Order::Panic, 16, 5),
        (Order::Panic, 32, 6),
        (Order::Panic, 60, 7),
        (Order::End, 60, 8),
    ] {
        assert!(orders.send(order).is_ok());
        assert!(step(kept.as_mut()).is_pending());
        is_down(&client, "sweeper").await;
        clock.advance(SignedDuration::from_secs(seconds) - SignedDuration::from_millis(1));
        assert!(step(kept.as_mut()).is_pending());
        assert_eq!(starts.get(), started);
        is_down(&client, "sweeper").await;
        clock.advance(SignedDuration::from_millis(1));
        assert!(step(kept.as_mut()).is_pending());
        assert_eq!(starts.get(), started + 1);
        is_ready(&client).await;
    }

    // One that has run for a minute has recovered.
    clock.advance(SignedDuration::from_secs(60));
    assert!(orders.send(Order::Panic).is_ok());
    assert!(step(kept.as_mut()).is_pending());
    clock.advance(SignedDuration::from_secs(1));
    assert!(step(kept.as_mut()).is_pending());
    assert_eq!(starts.get(), 10);
}

#[tokio::test]
async fn all_tasks_that_are_down_are_named() {
    let clock = manual();
    let background = Background::new("sample", clock.clone());
    let (_store, _server, client) = start(&background).await;
    let mut webhooks = pin!(background.keep("webhooks", pending(), |_| async {}));
    let mut sweeper = pin!(background.keep("sweeper", pending(), |_| async { panic!("at once") }));
    let mut healthy = pin!(background.keep("demo events", pending(), |_| pending()));
    assert!(step(webhooks.as_mut()).is_pending());
    assert!(step(sweeper.as_mut()).is_pending());
    assert!(step(healthy.as_mut()).is_pending());
    is_down(&client, "sweeper, webhooks").await;
}

#[tokio::test]
async fn stopped_task_finishes_and_is_not_restarted() {
    let (clock, starts) = (manual(), Cell::new(0));
    let background = Background::new("sample", clock.clone());
    let (_store, _server, client) = start(&background).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let (finish, finished) = oneshot::channel::<()>();
    let finished = RefCell::new(Some(finished));
    let work = |stop| {
        starts.set(starts.get() + 1);
        let last = finished.borrow_mut().take().unwrap();
        async move {
            futures_util::FutureExt::map(stop, drop).await;
            last.await.unwrap();
        }
    };
    let stopped = async { drop(stopped.await) };
    let mut kept = pin!(background.keep("webhooks", stopped, work));
    assert!(step(kept.as_mut()).is_pending());
    stop.send(()).unwrap();
    assert!(step(kept.as_mut()).is_pending(), "it has something to finish");
    finish.send(()).unwrap();
    assert!(step(kept.as_mut()).is_ready());
    assert_eq!(starts.get(), 1);
    is_ready(&client).await;

    // Shutdown does not wait for the restart of a task either.
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async { drop(stopped.await) };
    let mut down = pin!(background.keep("sweeper", stopped, |_| async {}));
    assert!(step(down.as_mut()).is_pending());
    is_down(&client, "sweeper").await;
    stop.send(()).unwrap();
    assert!(step(down.as_mut()).is_ready());
}

#[tokio::test]
async fn task_of_a_service_with_a_frozen_clock_is_restarted() {
    let frozen = ClockState::default().freeze("2026-05-13T10:00:00Z".parse().unwrap());
    let background = Background::new("sample", Clock::adjustable(frozen));
    let (started, mut starts) = mpsc::unbounded_channel();
    let work = |_| {
        started.send(()).unwrap();
        async {}
    };
    let twice = async {
        starts.recv().await;
        starts.recv().await;
    };
    tokio::select! {
        () = background.keep("sweeper", pending(), work) => {}
        () = soon("the second start", twice) => {}
    }
}
