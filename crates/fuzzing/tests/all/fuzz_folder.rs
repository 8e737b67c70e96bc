//! The folder `fuzz/`, which the workspace does not build: its programs, its inputs, and its dependencies.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use toml::{Table, Value};

use crate::{NAMES, fuzz_folder};

fn table(path: &Path) -> Table {
    fs::read_to_string(path).unwrap().parse().unwrap()
}

#[test]
fn every_target_has_a_program_and_inputs() {
    let manifest = table(&fuzz_folder().join("Cargo.toml"));
    let programs: Vec<_> =
        manifest["bin"].as_array().unwrap().iter().map(|program| program["name"].as_str().unwrap()).collect();
    assert_eq!(programs, NAMES);
    for name in NAMES {
        let source = fs::read_to_string(fuzz_folder().join(format!("targets/{name}.rs"))).unwrap();
        assert!(source.contains(&format!("fuzzing::run(\"{name}\", input)")), "{source}");
    }
    let folders = fs::read_dir(fuzz_folder().join("seeds")).unwrap();
    let folders: BTreeSet<_> =
        folders.map(|folder| folder.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(folders, NAMES.iter().map(|name| (*name).to_owned()).collect());
}

/// The programs are built from what the program is built from. `tools/fuzz lock` makes their lock file anew.
#[test]
fn dependencies_have_the_versions_of_the_workspace() {
    let versions = |path: &Path| {
        let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for package in table(path)["package"].as_array().unwrap() {
            let text = |name: &str| package.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            versions.entry(text("name")).or_default().insert(text("version"));
        }
        versions
    };
    let root = versions(&fuzz_folder().join("../Cargo.lock"));
    for (name, found) in versions(&fuzz_folder().join("Cargo.lock")) {
        let is_own = ["fuzz", "libfuzzer-sys", "arbitrary"].contains(&name.as_str());
        let known = root.get(&name).is_some_and(|known| found.is_subset(known));
        assert!(is_own || known, "{name} {found:?}: run tools/fuzz lock");
    }
}
