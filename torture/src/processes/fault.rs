//! What happens to one of the processes, to its network or to the database.

use std::{collections::BTreeMap, time::Duration};

use rand::{RngExt, rngs::StdRng, seq::SliceRandom};
use rustix::process::{Pid, Signal, kill_process};

/// The steps of the clock.
pub(super) const HOUR: i64 = 3600;
/// What a slow network adds to each packet, in each direction, and what it transfers.
pub(super) const LATENCY: Duration = Duration::from_millis(100);
pub(super) const BYTES_PER_SECOND: u32 = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    Kill,
    Stop,
    RestartPostgres,
    CrashPostgres,
    Cut,
    Silence,
    Slow,
    ClockAhead,
    ClockBehind,
}

impl Fault {
    const ALL: [Fault; 9] = [
        Fault::Kill,
        Fault::Stop,
        Fault::RestartPostgres,
        Fault::CrashPostgres,
        Fault::Cut,
        Fault::Silence,
        Fault::Slow,
        Fault::ClockAhead,
        Fault::ClockBehind,
    ];
    /// Those after which all processes are back soonest, in two groups.
    const SOONEST: [&[Fault]; 2] = [&[Fault::Kill, Fault::Cut], &[Fault::ClockAhead, Fault::ClockBehind]];

    /// All faults, in any order.
    pub(super) fn all(random: &mut StdRng) -> Vec<Fault> {
        let mut all = Fault::ALL.to_vec();
        all.shuffle(random);
        all
    }

    /// One of each group, in any order.
    pub(super) fn some(random: &mut StdRng) -> Vec<Fault> {
        let of = |group: &&[Fault]| group[random.random_range(0..group.len())];
        let mut some: Vec<_> = Fault::SOONEST.iter().map(of).collect();
        some.shuffle(random);
        some
    }

    /// How long it lasts in a full run. Others end by themselves.
    pub(super) fn lasts(self) -> Option<Duration> {
        match self {
            Fault::Kill | Fault::RestartPostgres | Fault::CrashPostgres => None,
            Fault::Stop => Some(Duration::from_secs(30)),
            Fault::Cut | Fault::Silence => Some(Duration::from_secs(8)),
            Fault::Slow | Fault::ClockAhead | Fault::ClockBehind => Some(Duration::from_secs(10)),
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Fault::Kill => "one of three processes is killed and started again",
            Fault::Stop => "one of three processes is stopped (SIGSTOP)",
            Fault::RestartPostgres => "PostgreSQL of three processes is restarted",
            Fault::CrashPostgres => "PostgreSQL of three processes is killed and started again",
            Fault::Cut => "the connections of one process to PostgreSQL are closed",
            Fault::Silence => "the network between one process and PostgreSQL drops all data",
            Fault::Slow => "the network to PostgreSQL takes 200 ms for a round trip, at 256 KB/s",
            Fault::ClockAhead => "the clock of one process is 1 h ahead",
            Fault::ClockBehind => "the clock of one process is 1 h behind",
        }
    }
}

/// What was seen of one kind of fault.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) times: usize,
    pub(super) written: usize,
    /// Writes that were acknowledged while the fault lasted.
    pub(super) meanwhile: usize,
    /// The longest time until all processes were back.
    pub(super) back: Duration,
    pub(super) violations: Vec<String>,
}

pub(super) type Table = BTreeMap<Fault, Seen>;

pub(super) fn signal(process: u32, signal: Signal) {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw).expect("the id of a process");
    kill_process(process, signal).expect("the process runs");
}
