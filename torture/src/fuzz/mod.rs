//! Bytes and requests that no client should send: libFuzzer for each parser, and Schemathesis for each OpenAPI document.

mod documents;
mod parser;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use parser::Parser;
use rand::RngExt;

use crate::{Add, Torture, report::Line};

/// How long each parser is fuzzed.
const TIME: Duration = Duration::from_secs(120);
/// How many are fuzzed at the same time: more than there are cores, so that the row takes a few minutes.
const AT_ONCE: usize = 5;

/// `make test` has the parsers in the tests of `crates/fuzzing`, without libFuzzer.
pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    let (sender, lines) = mpsc::channel::<Line>();
    thread::scope(|scope| {
        if !torture.short {
            let sender = sender.clone();
            scope.spawn(move || parsers(torture, &sender));
        }
        // At the same time, as neither needs all of a processor.
        scope.spawn(move || documents::run(torture, &mut |line| send(&sender, line)));
        lines.into_iter().for_each(add);
    });
}

fn send(sender: &Sender<Line>, line: Line) {
    sender.send(line).expect("lines are awaited");
}

fn parsers(torture: &Torture, sender: &Sender<Line>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the sources");
    let mut random = torture.random("fuzz");
    let scratch = scratch(torture);
    let parsers = names(&root.join("fuzz/seeds")).into_iter().map(|name| {
        // Zero means another seed each time.
        let seed = random.random_range(1..=u32::MAX);
        Parser { name, seed, root: root.clone(), scratch: scratch.path().to_owned() }
    });
    let queue = Mutex::new(parsers.collect::<Vec<_>>().into_iter());
    let next = || queue.lock().expect("no thread panics with it").next();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(parser) = next() {
                    send(sender, parser.line(TIME));
                }
            });
        }
    });
}

/// A folder for the databases of the services, in memory if possible: the writes of an input are no part of its parser.
fn scratch(torture: &Torture) -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir_in(&torture.folder)).expect("a folder")
}

/// The parsers, which have a folder of inputs each.
fn names(seeds: &Path) -> Vec<String> {
    let folders = fs::read_dir(seeds).expect("the inputs");
    let name = |folder: PathBuf| folder.file_name().expect("a name").to_string_lossy().into_owned();
    let mut names: Vec<_> = folders.map(|folder| name(folder.expect("a folder").path())).collect();
    names.sort();
    names
}
