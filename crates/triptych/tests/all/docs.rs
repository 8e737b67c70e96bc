//! Runs every command in the documents, and compares its output with the document.
//!
//! A `sh` block is run by a shell, with the address of a running demo in place of the default one and the program in place
//! of `triptych`. If a `json` or `xml` block follows it, that is what it must answer; "…" in it stands for any text or number.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::Workspace;
use serde_json::Value;
use testkit::{Engine, Store};

/// What cannot be run from within itself: the test run, and the release build of what these tests start anyway.
const NOT_HERE: [&str; 2] = ["make test", "cargo run --release"];

pub(crate) struct Block {
    /// What follows the three backticks: the language, and the name of a file if the block is one.
    pub(crate) language: String,
    pub(crate) text: String,
    pub(crate) line: usize,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files of all documents.
pub(crate) fn documents() -> Vec<PathBuf> {
    let mut documents: Vec<_> =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name)).to_vec();
    let guides = fs::read_dir(root().join("docs")).unwrap().map(|file| file.unwrap().path());
    documents.extend(guides.filter(|file| file.extension().is_some_and(|kind| kind == "md")));
    documents
}

pub(crate) fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(language), None) => {
                open = Some(Block { language: language.into(), text: String::new(), line: number + 1 });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Whether an answer is what the document shows, "…" standing for any text or number.
pub(crate) fn matches(shown: &Value, found: &Value) -> bool {
    match (shown, found) {
        (Value::String(any), Value::String(_) | Value::Number(_)) if any == "…" => true,
        (Value::Array(shown), Value::Array(found)) => {
            shown.len() == found.len() && shown.iter().zip(found).all(|(shown, found)| matches(shown, found))
        }
        (Value::Object(shown), Value::Object(found)) => {
            shown.len() == found.len()
                && shown
                    .iter()
                    .all(|(name, shown)| found.get(name).is_some_and(|found| matches(shown, found)))
        }
        (shown, found) => shown == found,
    }
}

/// A process that a document starts in the background, which ends with the test at the latest.
struct Listener(PathBuf);

impl Drop for Listener {
    fn drop(&mut self) {
        if let Ok(id) = fs::read_to_string(&self.0) {
            let _ = Command::new("kill").arg(id.trim()).output();
        }
    }
}

/// Runs a document's commands in order against a fresh demo, and gives how many there were.
fn run(document: &str) -> usize {
    let path = root().join(document);
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let program = workspace.serve();
    let services =
        [("petstore", "127.0.0.1:8080"), ("train", "127.0.0.1:8081"), ("museum", "127.0.0.1:8082")];
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let _listener = Listener(workspace.folder.path().join("listener"));
    let here = |text: &str| {
        let text = text.replace("9000", &port);
        services.iter().fold(text, |text, (service, address)| {
            text.replace(address, &program.address(service).to_string())
        })
    };
    let blocks = blocks(&fs::read_to_string(path).unwrap());
    let mut commands = 0;
    for (at, block) in blocks.iter().enumerate().filter(|(_, block)| block.language == "sh") {
        commands += 1;
        if NOT_HERE.contains(&block.text.trim()) {
            continue;
        }
        let place = format!("{document}:{}", block.line);
        let bin = Path::new(env!("CARGO_BIN_EXE_triptych")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var_os("PATH").unwrap().display());
        let output = Command::new("sh")
            .args(["-e", "-c", &here(&block.text)])
            .current_dir(workspace.folder.path())
            .env("PATH", path)
            .env("TRIPTYCH_DATA", workspace.store.folder().unwrap())
            .env("TRIPTYCH_SERVER", format!("http://{}", program.address("petstore")))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {said}");
        let answered = String::from_utf8_lossy(&output.stdout);
        if let Some(shown) = blocks.get(at + 1).filter(|next| next.language == "xml") {
            assert_eq!(answered.trim_end(), shown.text.trim_end(), "{place}");
        }
        let Some(shown) = blocks.get(at + 1).filter(|next| next.language == "json") else { continue };
        let shown: Value =
            serde_json::from_str(&here(&shown.text)).unwrap_or_else(|error| panic!("{place}: {error}"));
        let found =
            serde_json::from_str(&answered).unwrap_or_else(|error| panic!("{place}: {error} in {answered}"));
        assert!(matches(&shown, &found), "{place} shows {shown:#}\nbut the answer is {found:#}");
    }
    commands
}

#[test]
fn commands_of_the_readme_work() {
    assert_eq!(run("README.md"), 8);
}

#[test]
fn commands_of_the_tour_work() {
    assert_eq!(run("docs/tour.md"), 19);
}

#[test]
fn commands_of_the_museum_guide_work() {
    assert_eq!(run("docs/museum.md"), 14);
}

#[test]
fn commands_of_the_sandbox_guide_work() {
    assert_eq!(run("docs/sandboxes.md"), 20);
}

#[test]
fn commands_of_the_pet_store_guide_work() {
    assert_eq!(run("docs/petstore.md"), 20);
}

#[test]
fn commands_of_the_train_guide_work() {
    assert_eq!(run("docs/train-travel.md"), 10);
}

#[test]
fn commands_of_the_webhook_guide_work() {
    assert_eq!(run("docs/webhooks.md"), 5);
}

#[test]
fn commands_of_the_sign_in_guide_work() {
    assert_eq!(run("docs/sign-in.md"), 13);
}

#[test]
fn commands_of_the_operating_guide_work() {
    assert_eq!(run("docs/operating.md"), 10);
}

#[test]
fn all_documents_with_commands_are_run() {
    let others = [
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/architecture.md",
        "docs/compat.md",
        "docs/decisions.md",
        "docs/glossary.md",
        "docs/performance.md",
        "docs/scaling.md",
        "docs/torture.md",
    ];
    for document in others {
        let text = fs::read_to_string(root().join(document)).unwrap();
        for block in blocks(&text).iter().filter(|block| block.language == "sh") {
            assert!(NOT_HERE.contains(&block.text.trim()), "{document}:{}", block.line);
        }
    }
    let known = [
        "petstore.md",
        "train-travel.md",
        "museum.md",
        "sandboxes.md",
        "sign-in.md",
        "testing-with-triptych.md",
        "webhooks.md",
        "operating.md",
        "architecture.md",
        "compat.md",
        "decisions.md",
        "glossary.md",
        "performance.md",
        "performance.svg",
        "scaling.md",
        "torture.md",
        "tour.md",
        "pictures",
    ];
    for file in fs::read_dir(root().join("docs")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name.as_str()), "docs/{name} is run by no test");
    }
}

/// A command that CONTRIBUTING names leads to a crate, a test file and at least one test in it.
#[test]
fn commands_of_contributing_exist() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let (mut tests, mut targets) = (0, 0);
    for named in text.split(['`', '\n']) {
        if let Some(target) = named.strip_prefix("make ") {
            targets += 1;
            assert!(makefile.contains(&format!("\n{target}:")), "there is no {named}");
        }
        let Some(arguments) = named.strip_prefix("cargo test ") else { continue };
        tests += 1;
        let words: Vec<_> = arguments.split(' ').collect();
        let after = |flag: &str| words.iter().position(|word| *word == flag).map(|at| words[at + 1]);
        let folder = root().join("crates").join(after("-p").unwrap());
        assert!(folder.join("Cargo.toml").is_file(), "no crate for {named}");
        let Some(test) = after("--test") else { continue };
        let (file, several) =
            (folder.join(format!("tests/{test}.rs")), folder.join(format!("tests/{test}/main.rs")));
        let file = if file.is_file() { file } else { several };
        let source = fs::read_to_string(&file).unwrap_or_else(|_| panic!("no file for {named}"));
        let Some(filter) = words.last().filter(|word| **word != test) else { continue };
        let named_there = [format!("mod {filter};"), format!("fn {filter}")];
        assert!(named_there.iter().any(|text| source.contains(text)), "{named}");
    }
    assert!(tests >= 2 && targets >= 2, "{tests} {targets}");
}

#[test]
fn toml_of_the_guides_is_a_valid_settings_file() {
    let folder = tempfile::tempdir().unwrap();
    let documents =
        [("docs/operating.md", 6), ("docs/sign-in.md", 2), ("docs/webhooks.md", 1), ("docs/tour.md", 1)];
    for (document, expected) in documents {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let blocks: Vec<_> = blocks(&text).into_iter().filter(|block| block.language == "toml").collect();
        assert_eq!(blocks.len(), expected, "{document}");
        for block in blocks {
            fs::write(folder.path().join("triptych.toml"), block.text).unwrap();
            let output = crate::common::bare(folder.path(), &["config"]).output().unwrap();
            assert!(
                output.status.success(),
                "{document}:{}: {}",
                block.line,
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}

#[test]
fn links_between_the_documents_work() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.starts_with("https://") {
                let target = document.parent().unwrap().join(link.split('#').next().unwrap());
                assert!(target.exists(), "{} links to {link}", document.display());
            }
        }
    }
}
