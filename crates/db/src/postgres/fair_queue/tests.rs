use std::sync::Arc;

use super::{FairQueue, Next, QueueId, WorkerState};

fn submit(queue: &FairQueue<&'static str>, id: QueueId, jobs: &[&'static str]) {
    for job in jobs {
        queue.submit(id, job).unwrap();
    }
}

/// The jobs that can run now, in order.
fn runnable(queue: &FairQueue<&'static str>) -> Vec<&'static str> {
    std::iter::from_fn(|| queue.state().take(queue.workers)).map(|(_, job)| job).collect()
}

/// The next job, after this one has finished.
fn next(queue: &FairQueue<&'static str>, finished: Option<QueueId>) -> Option<(QueueId, &'static str)> {
    let mut worker = WorkerState { left: queue.state().left, ..WorkerState::default() };
    match queue.next(finished, &mut worker)? {
        Next::Job(id, job) => Some((id, job)),
        Next::Left => panic!("no queue has left"),
    }
}

fn group(queue: &FairQueue<&'static str>, name: &str) -> QueueId {
    queue.join(Some(&Arc::from(name)))
}

#[test]
fn long_queue_of_one_service_does_not_delay_another() {
    let queue = FairQueue::new(10, 10, 8);
    let (one, other, idle) = (queue.join(None), queue.join(None), queue.join(None));
    submit(&queue, one, &["a1", "a2", "a3", "a4"]);
    submit(&queue, other, &["b1", "b2"]);
    assert_eq!(runnable(&queue), ["a1", "b1", "a2", "b2", "a3", "a4"]);
    submit(&queue, idle, &["c1"]);
    assert_eq!(runnable(&queue), ["c1"]);
}

#[test]
fn one_connection_is_left_for_each_other_service() {
    let queue = FairQueue::new(10, 10, 4);
    let (one, other, third) = (queue.join(None), queue.join(None), queue.join(None));
    submit(&queue, one, &["a1", "a2", "a3", "a4"]);
    assert_eq!(runnable(&queue), ["a1", "a2"]);
    submit(&queue, other, &["b1"]);
    submit(&queue, third, &["c1"]);
    assert_eq!(runnable(&queue), ["b1", "c1"]);
    assert_eq!(next(&queue, Some(one)), Some((one, "a3")));
    queue.leave(other);
    assert_eq!(runnable(&queue), ["a4"]);
}

#[test]
fn each_service_is_served_with_fewer_connections_than_services() {
    let queue = FairQueue::new(10, 10, 1);
    let (one, other) = (queue.join(None), queue.join(None));
    submit(&queue, one, &["a1", "a2"]);
    submit(&queue, other, &["b1"]);
    assert_eq!(next(&queue, None), Some((one, "a1")));
    assert_eq!(next(&queue, Some(one)), Some((other, "b1")));
    assert_eq!(next(&queue, Some(other)), Some((one, "a2")));
    queue.close();
    assert_eq!(next(&queue, Some(one)), None);
}

#[test]
fn full_queue_returns_the_job() {
    let queue = FairQueue::new(1, 1, 1);
    let (one, other) = (queue.join(None), queue.join(None));
    submit(&queue, one, &["a1"]);
    assert_eq!(queue.submit(one, "a2"), Err("a2"));
    submit(&queue, other, &["b1"]);
    queue.leave(one);
    assert_eq!(queue.submit(one, "a3"), Err("a3"));
}

#[test]
fn hundreds_of_groups_have_one_turn_and_leave_a_connection_for_each_service() {
    let queue = FairQueue::new(1000, 1000, 4);
    let (one, other) = (queue.join(None), queue.join(None));
    for number in 0..300 {
        submit(&queue, group(&queue, &format!("group-{number}")), &["g"]);
    }
    submit(&queue, one, &["a1", "a2", "a3"]);
    submit(&queue, other, &["b1", "b2"]);
    // Three share four connections, so each has two at most.
    assert_eq!(runnable(&queue), ["a1", "b1", "g", "a2", "b2", "g"]);
}

#[test]
fn groups_and_their_databases_take_turns() {
    let queue = FairQueue::new(1000, 1000, 8);
    let (first, second, other) = (group(&queue, "a"), group(&queue, "a"), group(&queue, "b"));
    submit(&queue, first, &["a1", "a2", "a3"]);
    submit(&queue, second, &["A1"]);
    submit(&queue, other, &["b1", "b2"]);
    assert_eq!(runnable(&queue), ["a1", "b1", "A1", "b2", "a2", "a3"]);
}

#[test]
fn group_uses_half_of_the_connections_of_groups() {
    let queue = FairQueue::new(1000, 1000, 9);
    let (_service, one) = (queue.join(None), group(&queue, "a"));
    submit(&queue, one, &["a1", "a2", "a3", "a4", "a5"]);
    assert_eq!(runnable(&queue), ["a1", "a2", "a3", "a4"]);
    let other = group(&queue, "b");
    submit(&queue, other, &["b1"]);
    assert_eq!(runnable(&queue), ["b1"]);
    assert_eq!(next(&queue, Some(one)), Some((one, "a5")));
}

#[test]
fn full_queue_of_a_group_does_not_fill_the_queue_of_all() {
    let queue = FairQueue::new(3, 2, 1);
    let (one, other, third) = (group(&queue, "a"), group(&queue, "b"), group(&queue, "c"));
    submit(&queue, one, &["a1", "a2"]);
    assert_eq!(queue.submit(one, "a3"), Err("a3"));
    submit(&queue, other, &["b1"]);
    assert_eq!(queue.submit(third, "c1"), Err("c1"));
    let service = queue.join(None);
    submit(&queue, service, &["s1", "s2", "s3"]);
}

#[test]
fn groups_that_come_and_go_leave_nothing() {
    let queue = FairQueue::new(1000, 10, 4);
    let service = queue.join(None);
    for _ in 0..3 {
        let ids: Vec<_> = (0..300).map(|number| group(&queue, &format!("group-{number}"))).collect();
        for id in &ids {
            submit(&queue, *id, &["1", "2"]);
        }
        let (running, _) = queue.state().take(4).unwrap();
        for id in ids {
            queue.leave(id);
        }
        assert_eq!(queue.state().queues.len(), 2);
        queue.state().finish(running);
        let state = queue.state();
        assert_eq!((state.queues.len(), state.groups.len(), state.ready.len()), (1, 0, 0));
        assert_eq!((state.groups_waiting, state.groups_running), (0, 0));
    }
    submit(&queue, service, &["s1"]);
    assert_eq!(runnable(&queue), ["s1"]);
}

#[test]
fn worker_learns_that_a_database_was_closed() {
    let queue = FairQueue::new(10, 10, 1);
    let (one, other) = (queue.join(None), queue.join(None));
    submit(&queue, one, &["a1"]);
    queue.leave(other);
    let mut worker = WorkerState::default();
    assert_eq!(queue.next(None, &mut worker), Some(Next::Left));
    assert_eq!(queue.next(None, &mut worker), Some(Next::Job(one, "a1")));
}

#[test]
fn worker_that_has_waited_for_the_shortest_time_gets_the_next_job() {
    let queue = FairQueue::new(10, 10, 2);
    let one = queue.join(None);
    let (first, last) = (WorkerState::default(), WorkerState::default());
    queue.state().idle.extend([Arc::clone(&first.wake), Arc::clone(&last.wake)]);
    submit(&queue, one, &["a1"]);
    let idle = queue.state().idle.clone();
    assert!(idle.len() == 1 && Arc::ptr_eq(&idle[0], &first.wake));
}
