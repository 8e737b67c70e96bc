//! Runs the files and commands of docs/testing-with-triptych.md, each section by itself.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use crate::docs::{Block, blocks, matches, root};
use tempfile::TempDir;

/// The files of the guide in a folder, and the commands of one section.
struct Section {
    folder: TempDir,
    blocks: Vec<Block>,
}

impl Section {
    fn new(heading: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let guide = fs::read_to_string(root().join("docs/testing-with-triptych.md")).unwrap();
        for block in blocks(&guide) {
            if let Some((_, file)) = block.language.split_once(' ') {
                fs::write(folder.path().join(file), block.text).unwrap();
            }
        }
        fs::create_dir_all(folder.path().join("tmp")).unwrap();
        let section = guide.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
        Section { blocks: blocks(section), folder }
    }

    /// Runs a script of the shell, without the settings in the environment of the tests.
    fn run(&self, script: &str) -> Output {
        let bin = Path::new(env!("CARGO_BIN_EXE_triptych")).parent().unwrap();
        let found = std::env::var_os("PATH").unwrap();
        let path = format!("{}:{}:{}", self.folder.path().display(), bin.display(), found.display());
        let mut command = Command::new("sh");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TRIPTYCH_") {
                command.env_remove(&name);
            }
        }
        command.args(["-e", "-c", script]).current_dir(self.folder.path()).env("PATH", path);
        command.env("TMPDIR", self.folder.path().join("tmp")).output().unwrap()
    }

    /// Runs the commands, each to be successful; gives what they print on standard output and standard error.
    fn said(&self) -> String {
        let mut said = String::new();
        for block in self.blocks.iter().filter(|block| block.language == "sh") {
            let output = self.run(&block.text);
            for stream in [output.stdout, output.stderr] {
                said.push_str(&String::from_utf8(stream).unwrap());
            }
            assert!(output.status.success(), "{}\n{said}", block.text);
        }
        assert_eq!(fs::read_dir(self.folder.path().join("tmp")).unwrap().count(), 0, "temporary files stay");
        said
    }
}

#[test]
fn script_runs_a_command_with_a_server_of_its_own() {
    let section = Section::new("A server for a test run\n");
    let shown = section.blocks.iter().find(|block| block.language == "json").unwrap();
    let found = serde_json::from_str(&section.said()).unwrap();
    assert!(matches(&serde_json::from_str(&shown.text).unwrap(), &found), "{found:#}");
    assert_eq!(section.run("sh with-triptych.sh sh -c 'exit 7'").status.code(), Some(7));
    // A server that cannot start.
    let failed = section.run("TRIPTYCH_LOG=? sh with-triptych.sh true");
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8(failed.stderr).unwrap().starts_with("triptych: log is \"?\""));
    assert_eq!(fs::read_dir(section.folder.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn python_tests_of_the_guide_pass() {
    let said = Section::new("Python\n").said();
    assert!(said.contains("Ran 4 tests in ") && said.ends_with("\nOK\n"), "{said}");
}

#[test]
fn typescript_tests_of_the_guide_pass() {
    let section = Section::new("TypeScript\n");
    let modules = root().join("target/node/node_modules");
    assert!(modules.is_dir(), "tools/install installs TypeScript");
    let tsc = section.folder.path().join("tsc");
    let modules = modules.display();
    let script = format!(
        "#!/bin/sh\nexec node '{modules}/typescript/lib/tsc.js' --typeRoots '{modules}/@types' \"$@\"\n"
    );
    fs::write(&tsc, script).unwrap();
    fs::set_permissions(&tsc, fs::Permissions::from_mode(0o755)).unwrap();
    let said = section.said();
    assert!(said.contains("# tests 2\n") && said.contains("# pass 2\n"), "{said}");
}

#[test]
fn rust_tests_of_the_guide_pass() {
    let said = Section::new("Rust\n").said();
    assert!(said.contains("test result: ok. 2 passed; 0 failed"), "{said}");
}
