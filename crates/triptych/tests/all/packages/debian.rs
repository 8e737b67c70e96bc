//! The Debian package.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use tempfile::TempDir;

use super::{PACKAGES, architecture, manual_pages};
use crate::{
    common::{bare, output_of},
    docs::root,
};

/// The files of the package apart from the manual pages, with their modes.
const FILES: [(&str, &str); 13] = [
    ("-rw-r--r--", "etc/triptych/triptych.toml"),
    ("-rwxr-xr-x", "usr/bin/triptych"),
    ("-rw-r--r--", "usr/lib/systemd/system/triptych.service"),
    ("-rw-r--r--", "usr/lib/sysusers.d/triptych.conf"),
    ("-rw-r--r--", "usr/share/bash-completion/completions/triptych"),
    ("-rw-r--r--", "usr/share/doc/triptych/changelog.Debian.gz"),
    ("-rw-r--r--", "usr/share/doc/triptych/changelog.gz"),
    ("-rw-r--r--", "usr/share/doc/triptych/copyright"),
    ("-rw-r--r--", "usr/share/doc/triptych/default.toml"),
    ("-rw-r--r--", "usr/share/doc/triptych/licences-of-dependencies.gz"),
    ("-rw-r--r--", "usr/share/fish/vendor_completions.d/triptych.fish"),
    ("-rw-r--r--", "usr/share/lintian/overrides/triptych"),
    ("-rw-r--r--", "usr/share/zsh/vendor-completions/_triptych"),
];

fn dpkg(arguments: &[&str]) -> String {
    output_of(Command::new("dpkg-deb").arg(arguments[0]).arg(PACKAGES.deb()).args(&arguments[1..]))
}

fn extracted() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    dpkg(&["--extract", folder.path().to_str().unwrap()]);
    folder
}

#[test]
fn debian_package_has_exactly_these_files() {
    let listed = dpkg(&["--contents"]);
    let found: BTreeSet<_> = listed
        .lines()
        .filter(|line| !line.starts_with('d'))
        .map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            assert_eq!(words[1], "0/0", "{line}");
            (words[0].to_owned(), words[5].trim_start_matches("./").to_owned())
        })
        .collect();
    let pages = manual_pages().into_iter().map(|page| format!("usr/share/man/man1/{page}.gz"));
    let expected: BTreeSet<_> = pages
        .map(|page| ("-rw-r--r--".to_owned(), page))
        .chain(FILES.map(|(mode, path)| (mode.to_owned(), path.to_owned())))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(dpkg(&["--info", "conffiles"]), "/etc/triptych/triptych.toml");
}

#[test]
fn debian_package_names_its_version_and_needs() {
    let fields = dpkg(&["--field"]);
    let value = |name: &str| {
        let line = fields.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name} in {fields}")).to_owned()
    };
    assert_eq!(value("Package"), "triptych");
    assert_eq!(value("Version"), format!("{}-1", env!("CARGO_PKG_VERSION")));
    assert_eq!(value("Architecture"), architecture());
    // The static program of a release needs no library.
    let needs = value("Depends");
    assert!(needs.ends_with("systemd | systemd-standalone-sysusers"), "{needs}");
}

#[test]
fn lintian_finds_nothing() {
    let output = Command::new("lintian")
        .args(["--allow-root", "--fail-on=error,warning", "--suppress-tags"])
        // For the archive of Debian: it asks for the number of a bug.
        .arg("initial-upload-closes-no-bugs")
        .arg(PACKAGES.deb())
        .output()
        .expect("lintian, which tools/install installs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn files_of_the_debian_package_are_those_of_the_workspace() {
    let package = extracted();
    for (installed, source) in [
        ("usr/lib/systemd/system/triptych.service", "ops/triptych.service"),
        ("usr/share/doc/triptych/default.toml", "crates/triptych/src/default.toml"),
        ("etc/triptych/triptych.toml", "ops/debian/triptych.toml"),
    ] {
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(read(&package.path().join(installed)), read(&root().join(source)), "{installed}");
    }
    let unpacked = |name: &str| {
        output_of(
            Command::new("gzip").args(["-dc"]).arg(package.path().join("usr/share/doc/triptych").join(name)),
        )
    };
    assert_eq!(unpacked("changelog.gz") + "\n", fs::read_to_string(root().join("CHANGELOG.md")).unwrap());
    let first = format!("triptych ({}-1) unstable; urgency=medium\n", env!("CARGO_PKG_VERSION"));
    assert!(unpacked("changelog.Debian.gz").starts_with(&first));
}

/// As they are, and with each line that is proposed in a comment.
#[test]
fn settings_of_the_debian_package_are_valid() {
    let settings = fs::read_to_string(root().join("ops/debian/triptych.toml")).unwrap();
    let proposed: Vec<_> = settings
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if setting.contains(" = ") && !setting.starts_with(' ') => setting,
            _ => line,
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let config = |text: &str| {
        fs::write(folder.path().join("triptych.toml"), text).unwrap();
        output_of(&mut bare(folder.path(), &["config"]))
    };
    let shown = config(&settings);
    assert!(shown.contains("\ndemo = \"off\"\n") && shown.contains("\ndatabase = \"\"\n"), "{shown}");
    let shown = config(&proposed.join("\n"));
    for line in [
        "database = \"postgres://triptych@db.example.com/triptych\"",
        "secret = \"(hidden)\"",
        "trusted_proxies = [\"10.0.0.0/8\"]",
        "listen = \"0.0.0.0:8082\"",
        "address = \"https://museum.example.com\"",
    ] {
        assert!(shown.contains(&format!("\n{line}\n")), "{line} in {shown}");
    }
}

/// The unit runs as the user that the script of the package creates.
#[test]
fn user_of_the_unit_is_created() {
    let (package, machine) = (extracted(), tempfile::tempdir().unwrap());
    let folder = "usr/lib/sysusers.d";
    for folder in ["etc", folder] {
        fs::create_dir_all(machine.path().join(folder)).unwrap();
    }
    let file = format!("{folder}/triptych.conf");
    fs::copy(package.path().join(&file), machine.path().join(&file)).unwrap();
    let script = dpkg(&["--info", "postinst"]);
    let calls = script.lines().map(str::trim).filter(|line| line.starts_with("systemd-sysusers "));
    let files: Vec<_> = calls.filter_map(|call| call.split(' ').next_back()).collect();
    // The second call is cargo-deb's. The first one comes before the settings get their group.
    assert_eq!(files, ["triptych.conf"; 2], "{script}");
    let root_option = format!("--root={}", machine.path().display());
    let output = Command::new("systemd-sysusers").args([root_option.as_str(), files[0]]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let users = fs::read_to_string(machine.path().join("etc/passwd")).unwrap();
    let fields: Vec<_> = users.trim_end().split(':').collect();
    assert_eq!((fields[0], fields[4], fields[5]), ("triptych", "Triptych", "/var/lib/triptych"), "{users}");
    let unit = fs::read_to_string(root().join("ops/triptych.service")).unwrap();
    assert!(unit.contains("\nUser=triptych\nGroup=triptych\n"), "{unit}");
}
