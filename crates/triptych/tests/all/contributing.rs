//! The worked examples of CONTRIBUTING.md: each diff applies to the sources and compiles.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const MANIFEST: &str = env!("CARGO_MANIFEST_DIR");
const SOURCES: [&str; 5] = ["Cargo.toml", "Cargo.lock", "crates", "bench", "torture"];

/// The crates that the pet store does not need, with the file of their code.
const NOT_NEEDED: [(&str, &str); 7] = [
    ("crates/fuzzing", "lib.rs"),
    ("crates/museum", "lib.rs"),
    ("crates/sandbox", "lib.rs"),
    ("crates/train", "lib.rs"),
    ("crates/triptych", "main.rs"),
    ("bench", "main.rs"),
    ("torture", "main.rs"),
];

/// One test for all examples: each compiles after the ones before it, as a contributor would try them.
#[test]
fn diffs_of_contributing_apply_and_compile() {
    let root = Path::new(MANIFEST).ancestors().nth(2).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let changed = tempfile::tempdir_in(target).unwrap();
    for name in SOURCES {
        mirror(&root.join(name), &changed.path().join(name));
    }
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let diffs: Vec<_> =
        text.split("```diff\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(diffs.len(), 2, "an optional member, and an operation");
    for diff in diffs {
        apply(diff, changed.path(), target);
    }
    let manifest = changed.path().join("Cargo.toml");
    fs::write(&manifest, renamed(&fs::read_to_string(&manifest).unwrap())).unwrap();
    // The examples change the pet store: of the other crates, those that it needs are compiled without their tests, and the rest is
    // empty. They stay in the workspace: without them, the dependencies would be compiled again, with other features.
    for folder in names(&changed.path().join("crates")).filter(|name| name != Path::new("petstore")) {
        let _ = fs::remove_dir_all(changed.path().join("crates").join(folder).join("tests"));
    }
    for (folder, file) in NOT_NEEDED {
        let source = changed.path().join(folder).join("src");
        fs::remove_dir_all(&source).unwrap();
        fs::create_dir(&source).unwrap();
        fs::write(source.join(file), "fn main() {}\n").unwrap();
    }
    // Always the same folder, and only files that differ are written: Cargo compiles again only what has changed since the last run.
    let copy = target.join("contributing");
    for name in SOURCES {
        mirror(&changed.path().join(name), &copy.join(renamed(name)));
    }
    let mut test = Command::new(env!("CARGO"));
    test.args(["test", "--no-run", "--quiet", "--offline", "--locked", "--workspace", "--test", "all"]);
    // Of the whole workspace, as `tools/test` compiles it: otherwise the dependencies are compiled again, with other features
    // or as for a check. RUSTC_BOOTSTRAP, which `tools/test` sets for its report of times, would have the same effect.
    let test = test.env("CARGO_TARGET_DIR", target).current_dir(&copy);
    run(test.env_remove("RUSTC_BOOTSTRAP").env_remove("RUSTC_WORKSPACE_WRAPPER"), "");
}

/// The crates have other paths in the copy: Cargo would otherwise take them for those of the workspace, in the same target folder.
fn renamed(text: &str) -> String {
    text.replace("crates", "changed")
}

fn apply(diff: &str, copy: &Path, target: &Path) {
    let mut git = Command::new("git");
    // Git must not take the repository around the target folder for the one that the diff is for.
    git.args(["apply", "-"]).env("GIT_CEILING_DIRECTORIES", target).current_dir(copy);
    run(&mut git, diff);
}

#[track_caller]
fn run(command: &mut Command, input: &str) {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}\n{input}", String::from_utf8_lossy(&output.stderr));
}

/// Makes `copy` the same as `source`. A file that is the same already is left alone, so that its time of change stays.
fn mirror(source: &Path, copy: &Path) {
    if source.is_file() {
        let bytes = fs::read(source).unwrap();
        if fs::read(copy).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::write(copy, bytes).unwrap();
        }
        return;
    }
    fs::create_dir_all(copy).unwrap();
    for name in names(copy).filter(|name| !source.join(name).exists()) {
        let path = copy.join(name);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    for name in names(source) {
        mirror(&source.join(&name), &copy.join(&name));
    }
}

fn names(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into())
}
