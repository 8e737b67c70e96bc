//! The queue for connections: round robin among the services.
//!
//! Each service has a bounded queue. A free connection goes to the next service that has a job waiting, so a long queue of one
//! service does not delay the others. No service uses all connections at once: one is left for each of the others, since
//! units that wait for a lock can hold a connection for seconds.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Identifies the queue of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueueId(usize);

pub(super) struct FairQueue<J> {
    state: Mutex<State<J>>,
    wake: Condvar,
    /// How many jobs of a service may wait.
    queue: usize,
    /// How many jobs can run at once.
    workers: usize,
}

struct State<J> {
    services: Vec<ServiceQueue<J>>,
    /// The index of the service that is next.
    next: usize,
    joined: usize,
    closed: bool,
}

struct ServiceQueue<J> {
    id: QueueId,
    waiting: VecDeque<J>,
    running: usize,
}

impl<J> FairQueue<J> {
    pub(super) fn new(queue: usize, workers: usize) -> Self {
        let state = State { services: Vec::new(), next: 0, joined: 0, closed: false };
        FairQueue { state: Mutex::new(state), wake: Condvar::new(), queue, workers }
    }

    pub(super) fn join(&self) -> QueueId {
        let mut state = self.state();
        state.joined += 1;
        let id = QueueId(state.joined);
        state.services.push(ServiceQueue { id, waiting: VecDeque::new(), running: 0 });
        id
    }

    /// Removes a service with its queue. Its callers were dropped before.
    pub(super) fn leave(&self, id: QueueId) {
        self.state().services.retain(|service| service.id != id);
    }

    /// Adds a job to the queue of its service, or gives it back if the queue is full.
    pub(super) fn submit(&self, id: QueueId, job: J) -> Result<(), J> {
        let mut state = self.state();
        match state.service(id) {
            Some(service) if service.waiting.len() < self.queue => service.waiting.push_back(job),
            _ => return Err(job),
        }
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    /// Waits for the next job. `None` when the queue is closed and empty.
    pub(super) fn next(&self, finished: Option<QueueId>) -> Option<(QueueId, J)> {
        let mut state = self.state();
        if let Some(service) = finished.and_then(|id| state.service(id)) {
            service.running -= 1;
        }
        loop {
            if let Some(next) = state.take(self.workers) {
                return Some(next);
            }
            if state.closed && state.services.iter().all(|service| service.waiting.is_empty()) {
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Queued jobs still run; then `next` gives `None`.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    fn service(&mut self, id: QueueId) -> Option<&mut ServiceQueue<J>> {
        self.services.iter_mut().find(|service| service.id == id)
    }

    fn take(&mut self, workers: usize) -> Option<(QueueId, J)> {
        let services = self.services.len();
        let most = (workers + 1).saturating_sub(services).max(1);
        for index in (self.next..self.next + services).map(|index| index % services) {
            let service = &mut self.services[index];
            if service.running < most
                && let Some(job) = service.waiting.pop_front()
            {
                service.running += 1;
                self.next = index + 1;
                return Some((service.id, job));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{FairQueue, QueueId};

    fn submit(queue: &FairQueue<&'static str>, id: QueueId, jobs: &[&'static str]) {
        for job in jobs {
            queue.submit(id, job).unwrap();
        }
    }

    /// The jobs that can run now, in order.
    fn runnable(queue: &FairQueue<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.state().take(queue.workers)).map(|(_, job)| job).collect()
    }

    #[test]
    fn long_queue_of_one_service_does_not_delay_another() {
        let queue = FairQueue::new(10, 8);
        let (one, other, idle) = (queue.join(), queue.join(), queue.join());
        submit(&queue, one, &["a1", "a2", "a3", "a4"]);
        submit(&queue, other, &["b1", "b2"]);
        assert_eq!(runnable(&queue), ["a1", "b1", "a2", "b2", "a3", "a4"]);
        submit(&queue, idle, &["c1"]);
        assert_eq!(runnable(&queue), ["c1"]);
    }

    #[test]
    fn one_connection_is_left_for_each_other_service() {
        let queue = FairQueue::new(10, 4);
        let (one, other, third) = (queue.join(), queue.join(), queue.join());
        submit(&queue, one, &["a1", "a2", "a3", "a4"]);
        assert_eq!(runnable(&queue), ["a1", "a2"]);
        submit(&queue, other, &["b1"]);
        submit(&queue, third, &["c1"]);
        assert_eq!(runnable(&queue), ["b1", "c1"]);
        assert_eq!(queue.next(Some(one)), Some((one, "a3")));
        queue.leave(other);
        assert_eq!(runnable(&queue), ["a4"]);
    }

    #[test]
    fn each_service_is_served_with_fewer_connections_than_services() {
        let queue = FairQueue::new(10, 1);
        let (one, other) = (queue.join(), queue.join());
        submit(&queue, one, &["a1", "a2"]);
        submit(&queue, other, &["b1"]);
        assert_eq!(queue.next(None), Some((one, "a1")));
        assert_eq!(queue.next(Some(one)), Some((other, "b1")));
        assert_eq!(queue.next(Some(other)), Some((one, "a2")));
        queue.close();
        assert_eq!(queue.next(Some(one)), None);
    }

    #[test]
    fn full_queue_returns_the_job() {
        let queue = FairQueue::new(1, 1);
        let (one, other) = (queue.join(), queue.join());
        submit(&queue, one, &["a1"]);
        assert_eq!(queue.submit(one, "a2"), Err("a2"));
        submit(&queue, other, &["b1"]);
        queue.leave(one);
        assert_eq!(queue.submit(one, "a3"), Err("a3"));
    }
}
