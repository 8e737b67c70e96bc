//! The scripts of the Makefile.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use crate::docs::{documents, root};

/// Runs `tools/deny` with this result of the download of advisories; returns the commands it ran, and its output.
fn deny(fetching: &str) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let (cargo, calls) = (folder.path().join("cargo"), folder.path().join("calls"));
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\ncase \"$*\" in *fetch*) {fetching} ;; esac\n",
        calls.display()
    );
    fs::write(&cargo, script).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var_os("PATH").unwrap().display());
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/deny"))
        .env("PATH", path)
        // Enough for the script above to start on a busy machine.
        .env("ADVISORIES_SECONDS", "10")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    (fs::read_to_string(calls).unwrap().lines().map(str::to_owned).collect(), said)
}

const FIRST: [&str; 2] = ["deny --locked check bans licenses sources", "deny --locked fetch db"];
const SKIPPED: &str = "Advisories are not checked: their database cannot be fetched from here.\n";

#[test]
fn advisories_are_checked_where_their_database_can_be_fetched() {
    let (calls, said) = deny("true");
    assert_eq!(calls, [FIRST[0], FIRST[1], "deny --locked check --disable-fetch advisories"]);
    assert_eq!(said, "");
}

#[test]
fn advisories_are_skipped_where_their_database_cannot_be_fetched() {
    // A network that rejects connections, and one that drops packets.
    for fetching in ["exit 1", "exec sleep 3600"] {
        let (calls, said) = deny(fetching);
        assert_eq!(calls, FIRST, "{fetching}");
        assert_eq!(said, SKIPPED, "{fetching}");
    }
}

/// A failed check fails the script: `make test` must not go on.
#[test]
fn forbidden_licence_fails_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let cargo = folder.path().join("cargo");
    fs::write(&cargo, "#!/bin/sh\nexit 4\n").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var_os("PATH").unwrap().display());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/deny");
    let status = Command::new(script).env("PATH", path).status().unwrap();
    assert_eq!(status.code(), Some(4));
}

/// The documents show each picture that is stored, and no other; `make pictures` makes them all.
#[test]
fn pictures_of_the_documents_are_made_by_the_script() {
    let script = fs::read_to_string(root().join("tools/pictures")).unwrap();
    let mut shown = BTreeSet::new();
    for document in documents() {
        let text = fs::read_to_string(document).unwrap();
        let names = text.split("pictures/").skip(1).filter_map(|rest| rest.split_once(".png"));
        shown.extend(names.map(|(name, _)| format!("{name}.png")));
    }
    let stored: BTreeSet<_> = fs::read_dir(root().join("docs/pictures"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(shown, stored);
    for name in stored {
        assert!(script.contains(&format!("\npicture docs/pictures/{name} ")), "{name} is made by no script");
    }
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    assert!(makefile.contains("./tools/pictures ./target/release/triptych"));
}
