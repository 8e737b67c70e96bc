//! Which unit of work gets the next connection: services have turns.
//!
//! Each service has a bounded queue of its own. A connection that becomes free goes to the next service in turn that
//! has something waiting, so that a long queue of one does not delay the others. No service has all connections at
//! once: one is left for each of the others, since units that wait for a lock can hold theirs for seconds.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// A service that has turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member(usize);

pub(super) struct Turns<J> {
    state: Mutex<State<J>>,
    wake: Condvar,
    /// How many jobs of a service may wait.
    queue: usize,
    /// How many jobs can run at once.
    workers: usize,
}

struct State<J> {
    lanes: Vec<Lane<J>>,
    /// The place of the lane whose turn it is.
    turn: usize,
    joined: usize,
    closed: bool,
}

struct Lane<J> {
    member: Member,
    waiting: VecDeque<J>,
    running: usize,
}

impl<J> Turns<J> {
    pub(super) fn new(queue: usize, workers: usize) -> Self {
        let state = State { lanes: Vec::new(), turn: 0, joined: 0, closed: false };
        Turns { state: Mutex::new(state), wake: Condvar::new(), queue, workers }
    }

    pub(super) fn join(&self) -> Member {
        let mut state = self.state();
        state.joined += 1;
        let member = Member(state.joined);
        state.lanes.push(Lane { member, waiting: VecDeque::new(), running: 0 });
        member
    }

    /// Removes a service with its queue: its callers have been dropped.
    pub(super) fn leave(&self, member: Member) {
        self.state().lanes.retain(|lane| lane.member != member);
    }

    /// Puts a job at the end of its service's queue; gives it back if that is full.
    pub(super) fn submit(&self, member: Member, job: J) -> Result<(), J> {
        let mut state = self.state();
        match state.lane(member) {
            Some(lane) if lane.waiting.len() < self.queue => lane.waiting.push_back(job),
            _ => return Err(job),
        }
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    /// Waits for the next job. `None`: there will be none any more.
    pub(super) fn next(&self, finished: Option<Member>) -> Option<(Member, J)> {
        let mut state = self.state();
        if let Some(lane) = finished.and_then(|member| state.lane(member)) {
            lane.running -= 1;
        }
        loop {
            if let Some(next) = state.take(self.workers) {
                return Some(next);
            }
            if state.closed && state.lanes.iter().all(|lane| lane.waiting.is_empty()) {
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What waits is still done; then the workers are told to end.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    fn lane(&mut self, member: Member) -> Option<&mut Lane<J>> {
        self.lanes.iter_mut().find(|lane| lane.member == member)
    }

    fn take(&mut self, workers: usize) -> Option<(Member, J)> {
        let lanes = self.lanes.len();
        let most = (workers + 1).saturating_sub(lanes).max(1);
        for place in (self.turn..self.turn + lanes).map(|place| place % lanes) {
            let lane = &mut self.lanes[place];
            if lane.running < most
                && let Some(job) = lane.waiting.pop_front()
            {
                lane.running += 1;
                self.turn = place + 1;
                return Some((lane.member, job));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, Turns};

    fn submit(turns: &Turns<&'static str>, member: Member, jobs: &[&'static str]) {
        for job in jobs {
            turns.submit(member, job).unwrap();
        }
    }

    /// What is taken until nothing can be.
    fn taken(turns: &Turns<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| turns.state().take(turns.workers)).map(|(_, job)| job).collect()
    }

    #[test]
    fn a_long_queue_of_one_service_does_not_delay_another() {
        let turns = Turns::new(10, 8);
        let (one, other, idle) = (turns.join(), turns.join(), turns.join());
        submit(&turns, one, &["a1", "a2", "a3", "a4"]);
        submit(&turns, other, &["b1", "b2"]);
        assert_eq!(taken(&turns), ["a1", "b1", "a2", "b2", "a3", "a4"]);
        submit(&turns, idle, &["c1"]);
        assert_eq!(taken(&turns), ["c1"]);
    }

    #[test]
    fn one_connection_is_left_for_each_other_service() {
        let turns = Turns::new(10, 4);
        let (one, other, third) = (turns.join(), turns.join(), turns.join());
        submit(&turns, one, &["a1", "a2", "a3", "a4"]);
        assert_eq!(taken(&turns), ["a1", "a2"]);
        submit(&turns, other, &["b1"]);
        submit(&turns, third, &["c1"]);
        assert_eq!(taken(&turns), ["b1", "c1"]);
        assert_eq!(turns.next(Some(one)), Some((one, "a3")));
        turns.leave(other);
        assert_eq!(taken(&turns), ["a4"]);
    }

    #[test]
    fn with_fewer_connections_than_services_each_has_its_turn() {
        let turns = Turns::new(10, 1);
        let (one, other) = (turns.join(), turns.join());
        submit(&turns, one, &["a1", "a2"]);
        submit(&turns, other, &["b1"]);
        assert_eq!(turns.next(None), Some((one, "a1")));
        assert_eq!(turns.next(Some(one)), Some((other, "b1")));
        assert_eq!(turns.next(Some(other)), Some((one, "a2")));
        turns.close();
        assert_eq!(turns.next(Some(one)), None);
    }

    #[test]
    fn a_full_queue_gives_the_job_back() {
        let turns = Turns::new(1, 1);
        let (one, other) = (turns.join(), turns.join());
        submit(&turns, one, &["a1"]);
        assert_eq!(turns.submit(one, "a2"), Err("a2"));
        submit(&turns, other, &["b1"]);
        turns.leave(one);
        assert_eq!(turns.submit(one, "a3"), Err("a3"));
    }
}
