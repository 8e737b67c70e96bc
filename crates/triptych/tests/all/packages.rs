//! The packages: the Debian package, the archive, the image, Compose, and the workflows and the action of GitHub.

mod action;
mod containers;
mod debian;
mod workflows;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    common::{output_of, refused},
    docs::root,
};

/// A program that tools/install installs in a folder of its own.
fn lint(program: &str, arguments: &[&str]) -> String {
    let file = root().join("target/lint/bin").join(program);
    assert!(file.is_file(), "tools/install installs {}", file.display());
    let output = Command::new(file).args(arguments).current_dir(root()).output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

/// A YAML file of the workspace.
fn yaml(file: &str) -> Value {
    let script = "import json, sys, ruamel.yaml\n\
                  print(json.dumps(ruamel.yaml.YAML(typ='safe').load(open(sys.argv[1]))))";
    serde_json::from_str(&lint("python", &["-c", script, file])).unwrap()
}

/// The texts of a list.
fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

fn tool(name: &str) -> Command {
    Command::new(root().join("tools").join(name))
}

/// The architecture of this machine, as Debian names it.
fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

/// A folder with the packages of the program that the tests use. They are made as those of a release, except that this program is
/// neither static nor small.
struct Packages(TempDir);

impl Packages {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn deb(&self) -> PathBuf {
        self.path(&format!("triptych_{}-1_{}.deb", env!("CARGO_PKG_VERSION"), architecture()))
    }
}

static PACKAGES: LazyLock<Packages> = LazyLock::new(|| {
    let packages = Packages(tempfile::tempdir().unwrap());
    let program = packages.path(architecture()).join("triptych");
    fs::create_dir(program.parent().unwrap()).unwrap();
    output_of(Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_triptych")));
    for arguments in [&["archive"][..], &["deb", "--fast"]] {
        output_of(
            tool("package").arg(architecture()).args(arguments).env("PACKAGE_FOLDER", packages.0.path()),
        );
    }
    packages
});

/// The name of the archive and of the folder in it.
fn archive() -> String {
    format!("triptych-{}-linux-{}", env!("CARGO_PKG_VERSION"), architecture())
}

/// The names of the manual pages.
fn manual_pages() -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    output_of(&mut crate::common::bare(folder.path(), &["man", "."]));
    names(folder.path())
}

/// The names in a folder, in their order.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn archive_has_the_program_and_its_texts() {
    let folder = tempfile::tempdir().unwrap();
    let file = PACKAGES.path(&format!("{}.tar.gz", archive()));
    output_of(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(folder.path()));
    assert_eq!(names(folder.path()), [archive()]);
    let inner = folder.path().join(archive());
    let expected = [
        "CHANGELOG.md",
        "LICENCES-OF-DEPENDENCIES",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "completions",
        "man",
        "triptych",
        "triptych.service",
        "triptych.toml",
    ];
    assert_eq!(names(&inner), expected);
    assert_eq!(names(&inner.join("completions")), ["_triptych", "triptych", "triptych.fish"]);
    assert_eq!(names(&inner.join("man")), manual_pages());
    let version = output_of(Command::new(inner.join("triptych")).arg("--version"));
    assert_eq!(version, format!("triptych {}", env!("CARGO_PKG_VERSION")));
    let licences = fs::read_to_string(inner.join("LICENCES-OF-DEPENDENCIES")).unwrap();
    for part in ["\ntokio 1.", "\nlibsqlite3-sys 0.", "Permission is hereby granted, free of charge"] {
        assert!(licences.contains(part), "{part:?}");
    }
    // Of tests only.
    assert!(!licences.contains("\ntrybuild "));
}

#[test]
fn wrong_arguments_of_the_package_script_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        refused(&tool("package").args(arguments).env("PACKAGE_FOLDER", folder.path()).output().unwrap())
    };
    let named = "tools/package: name the architecture: tools/package amd64 or tools/package arm64";
    assert_eq!(run(&[]), named);
    assert_eq!(run(&["riscv64"]), named);
    assert_eq!(
        run(&["amd64", "rpm"]),
        "tools/package: there is no part rpm: name binary, archive or deb, or none for all"
    );
    let missing = folder.path().join("arm64/triptych");
    assert_eq!(
        run(&["arm64", "deb"]),
        format!("tools/package: there is no {}: run tools/package arm64 binary", missing.display())
    );
    fs::create_dir(folder.path().join("arm64")).unwrap();
    fs::write(&missing, "a program for another processor").unwrap();
    assert_eq!(
        run(&["arm64", "archive"]),
        format!(
            "tools/package: {} does not run here, and it writes its manual pages: run this on an arm64 machine",
            missing.display()
        )
    );
}

#[test]
fn shell_scripts_have_no_faults() {
    let scripts = [
        "ops/debian/postinst",
        "tools/action-download",
        "tools/action-start",
        "tools/deny",
        "tools/fuzz",
        "tools/install",
        "tools/install-cargo-deb",
        "tools/note",
        "tools/optimise",
        "tools/package",
        "tools/pictures",
        "tools/release-notes",
        "tools/test",
    ];
    let found = output_of(Command::new("shellcheck").args(scripts).current_dir(root()));
    assert_eq!(found, "");
}
