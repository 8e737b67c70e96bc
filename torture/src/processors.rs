//! Which threads run on which processors, and before which others.
//!
//! Divides the processors of the machine: the first half is for the program, the rest for the clients and PostgreSQL. Otherwise the
//! clients would take processor time from the program, and the program would look slower with more clients.

use std::process::{Command, Stdio};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

pub(crate) struct Processors {
    all: CpuSet,
    program: CpuSet,
    clients: CpuSet,
}

impl Processors {
    /// The processors that this thread may use. A single one is for both.
    pub(crate) fn divided() -> Self {
        let all = sched_getaffinity(None).expect("the processors of this thread");
        let numbers: Vec<_> = (0..CpuSet::MAX_CPU).filter(|number| all.is_set(*number)).collect();
        let (program, clients) = match numbers.len() {
            1 => (&numbers[..], &numbers[..]),
            count => numbers.split_at(count / 2),
        };
        Processors { all, program: set(program), clients: set(clients) }
    }

    /// How many the clients have.
    pub(crate) fn of_clients(&self) -> usize {
        self.clients.count() as usize
    }

    /// Lets this thread use only the processors of the clients until it ends.
    pub(crate) fn stay_with_the_clients(&self) {
        use_only(&self.clients);
    }

    /// Lets this thread, and the processes that it starts, use only the processors of the clients, until the result is dropped.
    #[must_use]
    pub(crate) fn run_with_the_clients(&self) -> Restored<'_> {
        use_only(&self.clients);
        Restored(self)
    }

    /// The same with the processors of the program.
    #[must_use]
    pub(crate) fn run_with_the_program(&self) -> Restored<'_> {
        use_only(&self.program);
        Restored(self)
    }
}

/// Lets the thread use all processors again when it is dropped.
pub(crate) struct Restored<'p>(&'p Processors);

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        use_only(&self.0.all);
    }
}

fn set(numbers: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    numbers.iter().for_each(|number| set.set(*number));
    set
}

fn use_only(processors: &CpuSet) {
    sched_setaffinity(None, processors).expect("a thread may use fewer processors");
}

/// Lets the kernel run this thread by this policy; false if it may not.
pub(crate) fn schedule(policy: &str, priority: &str) -> bool {
    let thread = std::fs::read_link("/proc/thread-self").expect("a running thread");
    let id = thread.file_name().expect("the id of a thread");
    let chrt = Command::new("chrt").args([policy, "--pid", priority]).arg(id).stderr(Stdio::null()).status();
    chrt.is_ok_and(|status| status.success())
}
