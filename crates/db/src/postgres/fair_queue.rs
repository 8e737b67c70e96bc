//! The queue for connections: round robin among the services.
//!
//! Each service has a bounded queue. A free connection goes to the next service that has a job waiting, so a long queue of one
//! service does not delay the others. No service uses all connections at once: one is left for each of the others, since
//! units that wait for a lock can hold a connection for seconds.
//!
//! All groups together have the turn and the connections of one service, however many they are. Among themselves they take
//! turns too, and so do the databases of a group; a group uses at most half of the connections that groups may use.
//!
//! The connection that was used last gets the next job: the others are opened only when they are needed, and the server has its
//! caches for this one.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// Identifies the queue of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct QueueId(usize);

pub(super) struct FairQueue<J> {
    state: Mutex<State<J>>,
    /// How many jobs of a service may wait, and of all groups together.
    queue: usize,
    /// How many jobs of a group's database may wait.
    group_queue: usize,
    /// How many jobs can run at once.
    workers: usize,
}

/// What a worker does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<J> {
    Job(QueueId, J),
    /// Databases were closed since the worker last asked.
    Left,
}

/// What a worker keeps between its jobs.
#[derive(Default)]
pub(super) struct WorkerState {
    /// Wakes it.
    wake: Arc<Condvar>,
    /// The number of closed databases that it knows of.
    left: usize,
}

struct State<J> {
    /// The workers that wait for a job, the one that has waited longest first.
    idle: Vec<Arc<Condvar>>,
    queues: HashMap<QueueId, Queue<J>>,
    /// The queues of services.
    services: Vec<QueueId>,
    groups: HashMap<Arc<str>, Group>,
    /// The groups that have jobs waiting, the next one first.
    ready: VecDeque<Arc<str>>,
    /// How many jobs of groups wait, and how many run.
    groups_waiting: usize,
    groups_running: usize,
    /// The index of the service that is next; after the services come the groups.
    next: usize,
    joined: usize,
    /// How many databases were closed.
    left: usize,
    closed: bool,
}

/// The queue of a database. After its database was closed, it exists until its jobs have ended.
struct Queue<J> {
    group: Option<Arc<str>>,
    waiting: VecDeque<J>,
    running: usize,
    has_left: bool,
}

#[derive(Default)]
struct Group {
    /// The queues of its databases, the next one first.
    queues: VecDeque<QueueId>,
    waiting: usize,
    running: usize,
}

impl<J> FairQueue<J> {
    pub(super) fn new(queue: usize, group_queue: usize, workers: usize) -> Self {
        let state = State {
            idle: Vec::with_capacity(workers),
            queues: HashMap::new(),
            services: Vec::new(),
            groups: HashMap::new(),
            ready: VecDeque::new(),
            groups_waiting: 0,
            groups_running: 0,
            next: 0,
            joined: 0,
            left: 0,
            closed: false,
        };
        FairQueue { state: Mutex::new(state), queue, group_queue, workers }
    }

    /// Adds the queue of a service, or of a database of a group.
    pub(super) fn join(&self, group: Option<&Arc<str>>) -> QueueId {
        let mut state = self.state();
        state.joined += 1;
        let id = QueueId(state.joined);
        match group {
            None => state.services.push(id),
            Some(group) => state.groups.entry(Arc::clone(group)).or_default().queues.push_back(id),
        }
        let queue = Queue { group: group.cloned(), waiting: VecDeque::new(), running: 0, has_left: false };
        state.queues.insert(id, queue);
        id
    }

    /// Removes a queue. Its callers were dropped before.
    pub(super) fn leave(&self, id: QueueId) {
        let mut state = self.state();
        state.services.retain(|service| *service != id);
        state.left += 1;
        state.leave(id);
        // All: each worker notices, and the others may now use more connections.
        state.wake_all();
    }

    /// Adds a job to a queue, or gives it back if the queue is full.
    pub(super) fn submit(&self, id: QueueId, job: J) -> Result<(), J> {
        let mut state = self.state();
        let State { queues, groups, ready, groups_waiting, .. } = &mut *state;
        let Some(queue) = queues.get_mut(&id).filter(|queue| !queue.has_left) else { return Err(job) };
        let full = match &queue.group {
            None => queue.waiting.len() >= self.queue,
            Some(_) => queue.waiting.len() >= self.group_queue || *groups_waiting >= self.queue,
        };
        if full {
            return Err(job);
        }
        queue.waiting.push_back(job);
        if let Some((name, group)) = queue.group.as_ref().and_then(|name| Some((name, groups.get_mut(name)?)))
        {
            *groups_waiting += 1;
            group.waiting += 1;
            if group.waiting == 1 {
                ready.push_back(Arc::clone(name));
            }
        }
        let worker = state.idle.pop();
        drop(state);
        if let Some(wake) = worker {
            wake.notify_one();
        }
        Ok(())
    }

    /// Waits for the next job. `None` when the queue is closed and empty.
    pub(super) fn next(&self, finished: Option<QueueId>, worker: &mut WorkerState) -> Option<Next<J>> {
        let mut state = self.state();
        if let Some(id) = finished {
            state.finish(id);
        }
        loop {
            if state.left != worker.left {
                worker.left = state.left;
                return Some(Next::Left);
            }
            if let Some((id, job)) = state.take(self.workers) {
                return Some(Next::Job(id, job));
            }
            if state.closed && state.queues.values().all(|queue| queue.waiting.is_empty()) {
                return None;
            }
            state.idle.push(Arc::clone(&worker.wake));
            state = worker.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            // It is still there if it was not woken for a job.
            state.idle.retain(|idle| !Arc::ptr_eq(idle, &worker.wake));
        }
    }

    /// Whether it has no queue: all have left, and their last jobs have ended.
    pub(super) fn is_empty(&self) -> bool {
        self.state().queues.is_empty()
    }

    /// Queued jobs still run; then `next` gives `None`.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.wake_all();
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    fn wake_all(&self) {
        for wake in &self.idle {
            wake.notify_one();
        }
    }

    /// The next job that may run.
    fn take(&mut self, workers: usize) -> Option<(QueueId, J)> {
        let lanes = self.services.len() + usize::from(!self.groups.is_empty());
        let most = (workers + 1).saturating_sub(lanes).max(1);
        for lane in (self.next..self.next + lanes).map(|lane| lane % lanes) {
            let taken = match self.services.get(lane) {
                Some(&id) => self.queues.get_mut(&id).and_then(|queue| queue.take(id, most)),
                None if self.groups_running < most => self.take_of_groups((most / 2).max(1)),
                None => None,
            };
            if taken.is_some() {
                self.next = lane + 1;
                return taken;
            }
        }
        None
    }

    /// A job of the first group of which fewer than `most` run.
    fn take_of_groups(&mut self, most: usize) -> Option<(QueueId, J)> {
        let group_of = |name: &Arc<str>| self.groups.get(name).is_some_and(|group| group.running < most);
        let at = self.ready.iter().position(group_of)?;
        let name = self.ready.remove(at)?;
        let group = self.groups.get_mut(&name)?;
        let queues = &mut self.queues;
        let has_waiting = |id: &QueueId| queues.get(id).is_some_and(|queue| !queue.waiting.is_empty());
        let at = group.queues.iter().position(has_waiting)?;
        let id = group.queues.remove(at)?;
        group.queues.push_back(id);
        let taken = queues.get_mut(&id)?.take(id, usize::MAX)?;
        group.waiting -= 1;
        group.running += 1;
        self.groups_waiting -= 1;
        self.groups_running += 1;
        if group.waiting > 0 {
            self.ready.push_back(name);
        }
        Some(taken)
    }

    fn finish(&mut self, id: QueueId) {
        let Some(queue) = self.queues.get_mut(&id) else { return };
        queue.running -= 1;
        let group = queue.group.clone();
        if queue.has_left && queue.running == 0 {
            self.queues.remove(&id);
        }
        if let Some(name) = group {
            self.groups_running -= 1;
            if let Some(group) = self.groups.get_mut(&name) {
                group.running -= 1;
            }
            self.remove_if_empty(&name);
        }
    }

    fn leave(&mut self, id: QueueId) {
        let Some(queue) = self.queues.get_mut(&id) else { return };
        queue.has_left = true;
        let dropped = std::mem::take(&mut queue.waiting).len();
        let group = queue.group.clone();
        if queue.running == 0 {
            self.queues.remove(&id);
        }
        if let Some(name) = group {
            self.groups_waiting -= dropped;
            if let Some(group) = self.groups.get_mut(&name) {
                group.queues.retain(|other| *other != id);
                group.waiting -= dropped;
                if group.waiting == 0 {
                    self.ready.retain(|other| *other != name);
                }
            }
            self.remove_if_empty(&name);
        }
    }

    fn remove_if_empty(&mut self, name: &Arc<str>) {
        if self.groups.get(name).is_some_and(|group| group.queues.is_empty() && group.running == 0) {
            self.groups.remove(name);
        }
    }
}

impl<J> Queue<J> {
    fn take(&mut self, id: QueueId, most: usize) -> Option<(QueueId, J)> {
        if self.running >= most {
            return None;
        }
        let job = self.waiting.pop_front()?;
        self.running += 1;
        Some((id, job))
    }
}

#[cfg(test)]
mod tests;
