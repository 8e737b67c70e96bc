//! Power cuts on SQLite: what was not synced is lost, or half of it is, in any order.
//!
//! A library that the program is loaded with notes each change of a file (`torture/preload`). A power cut is a SIGKILL, after which
//! the data folder is made anew from these notes: what a disk has that did what it was asked to, and no more.

mod disk;
mod node;
#[path = "../../preload/record.rs"]
mod record;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, File, OpenOptions},
    path::PathBuf,
    time::Duration,
};

use disk::Disk;
use rand::{RngExt, rngs::StdRng};
use testkit::Engine;
use tokio::runtime::Runtime;

use crate::{
    Add, Torture,
    installation::Installation,
    load::Run,
    preload,
    report::Line,
    tables::{Tables, tables},
};

pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    let mut random = torture.random("power-cut");
    let mut installation = Installation::new(torture, Engine::Sqlite, "power-cut", &mut random);
    let mut power = Power::new(torture, &mut installation, torture.random("disk of power-cut"));
    add(power.cut_first_starts(&installation, torture.size(10, 1)));
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let (mut run, mut program) = Run::start(installation, random).await;
        let deadline = torture.deadline(Duration::from_secs(80));
        let cuts = torture.size(30, 2);
        program =
            run.kill_program(program, cuts, deadline, &mut |installation| power.cut(installation)).await;
        let mut line = run.line(torture, "power cut on SQLite under mixed load").await;
        assert!(program.terminate().success(), "the program stops after SIGTERM");
        power.replay(usize::MAX);
        let Power { disk, data, during_start, .. } = power;
        let (syncs, lost) = (disk.syncs, disk.lost);
        // First: without them, the others mean nothing.
        line.violations.splice(0..0, disk.differs_from(&data));
        if syncs == 0 || lost == 0 {
            line.violations
                .insert(0, format!("{syncs} syncs were noted and {lost} changes lost: it proves nothing"));
        }
        line.measured +=
            &format!("; {during_start} more cuts during a start; {syncs} syncs, {lost} changes lost");
        add(line);
    });
}

/// The power of the disk with the data folder.
struct Power {
    disk: Disk,
    data: PathBuf,
    log: PathBuf,
    random: StdRng,
    during_start: usize,
}

impl Power {
    fn new(torture: &Torture, installation: &mut Installation, random: StdRng) -> Self {
        let log = torture.folder.join("file_log");
        File::create(&log).expect("a file");
        let (disk, data) = (Disk::new(), installation.data());
        disk.write(&data, None);
        preload::file_log(installation);
        installation.set("FILE_LOG", log.clone());
        installation.set("FILE_LOG_FOLDER", data.clone());
        Power { disk, data, log, random, during_start: 0 }
    }

    /// Cuts the power during the first start, again and again. The next start must have the same result as one without a cut.
    fn cut_first_starts(&mut self, installation: &Installation, cuts: usize) -> Line {
        let mut complete = Tables::new();
        let mut violations = Vec::new();
        for round in 0..=cuts {
            if round > 0 {
                self.cut_start(installation);
            }
            let (program, _) = installation.start();
            let found = tables(installation);
            if round == 0 {
                complete = found;
            } else if found != complete {
                violations.push(format!(
                    "round {round}: the tables have {found:?} rows, without a cut {complete:?}"
                ));
            }
            violations.extend(installation.check().map(|found| format!("round {round}: {found}")));
            program.kill();
            self.empty();
        }
        Line {
            fault: "power cut during the first start on SQLite".to_owned(),
            must: "the next start has the same result as one without a cut".to_owned(),
            measured: format!("{cuts} times"),
            violations,
        }
    }

    /// Starts with an empty disk.
    fn empty(&mut self) {
        self.replay(0);
        self.disk = Disk::new();
        fs::remove_dir_all(&self.data).expect("the data folder can be removed");
        self.disk.write(&self.data, None);
    }

    /// Makes the folder as it is after a power cut, now that the program was killed.
    fn cut(&mut self, installation: &Installation) {
        self.lose(usize::MAX);
        if self.random.random_bool(0.25) {
            self.cut_start(installation);
            self.during_start += 1;
        }
    }

    /// Starts the program, and cuts the power at any of its changes. No client is served.
    fn cut_start(&mut self, installation: &Installation) {
        let (program, _) = installation.start();
        program.kill();
        let length = fs::metadata(&self.log).expect("the log").len();
        let last = self.random.random_range(0..=length);
        self.lose(usize::try_from(last).expect("a short log"));
    }

    /// Loses what was not synced after this many bytes of the log.
    fn lose(&mut self, last: usize) {
        self.replay(last);
        self.disk.lose(&mut self.random);
        let before = self.data.with_extension("before");
        fs::rename(&self.data, &before).expect("the data folder can be renamed");
        self.disk.write(&self.data, Some((&before, &mut self.random)));
        fs::remove_dir_all(&before).expect("the folder can be removed");
    }

    /// Does on the disk what the first bytes of the log say, and empties the log.
    fn replay(&mut self, last: usize) {
        let log = fs::read(&self.log).expect("the log");
        self.disk.replay(&log[..last.min(log.len())]);
        OpenOptions::new().write(true).truncate(true).open(&self.log).expect("the log");
    }
}
