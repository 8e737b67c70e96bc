//! Every target with the inputs in `fuzz/seeds`, and with mutations of them: what `fuzz/` does, without libFuzzer and in seconds.

#![allow(clippy::unwrap_used)]

mod fuzz_folder;

use std::{fs, path::PathBuf};

use fuzzing::{Harness, mutate, target};
use rand::{SeedableRng, rngs::StdRng};

/// How many mutations each target gets. `make torture` has many more.
const MUTATIONS: usize = 1500;

fn fuzz_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The inputs of a target, in order of their names.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = fuzz_folder().join("seeds").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Sends all inputs. One of them must succeed: otherwise the target would test only the first check of its operations.
fn holds(name: &str) {
    let mut harness = Harness::new(target(name));
    let seeds = seeds(name);
    let mut succeeded = 0;
    for seed in &seeds {
        succeeded += usize::from(harness.send(seed).is_some_and(|answer| answer.status.is_success()));
    }
    assert!(succeeded > 0, "no input of {} succeeds", seeds.len());
    let mut random = StdRng::seed_from_u64(1);
    for number in 0..MUTATIONS {
        let (seed, other) = (&seeds[number % seeds.len()], &seeds[number * 7 % seeds.len()]);
        harness.send(&mutate(seed, other, &mut random));
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                holds(stringify!($name));
            }
        )*
    };
}

targets! { json xml form query multipart accept dates ids jwt webhook_url }

#[test]
fn every_target_is_tested() {
    let names: Vec<_> = fuzzing::TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, NAMES);
}
