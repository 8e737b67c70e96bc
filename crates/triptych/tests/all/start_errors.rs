//! An error at the start is one line that says what to change, and exit code 2.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, path::Path, process::Command};

use crate::common::{FREE_PORTS, bare, museum, refused};
use serde_json::json;
use testkit::{Engine, Program, Store};

fn serve(folder: &Path, more: &[&str]) -> Command {
    let mut command = bare(folder, &["serve"]);
    command.args(FREE_PORTS).args(more);
    command
}

#[test]
fn busy_port_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (flag, what) in [
        ("--petstore-listen", "the pet store"),
        ("--train-listen", "the train service"),
        ("--museum-listen", "the museum"),
        ("--admin-listen", "the console and metrics"),
    ] {
        let said = refused(&serve(folder.path(), &[flag, &address]).output().unwrap());
        let expected = format!(
            "triptych: cannot listen on {address} for {what}: Address already in use (os error 98) (choose another with \
             {flag})"
        );
        assert_eq!(said, expected);
    }
}

#[test]
fn unusable_data_folder_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    let below = file.join("below");
    let garbage = folder.path().join("garbage");
    let open = folder.path().join("open");
    for (folder, mode) in [(&garbage, 0o700), (&open, 0o750)] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::write(garbage.join("museum.db"), "this is no database, and it is long enough to look like one")
        .unwrap();
    for (data, why) in [
        (file.as_path(), "cannot use the data folder {}: it is not a folder"),
        (&below, "cannot use the data folder {}: it is not a folder"),
        (&open, "the data folder {} is open to other users: run chmod 700 {}"),
        (Path::new("/sys"), "the data folder {} is open to other users: run chmod 700 {}"),
        (Path::new("/proc/nowhere"), "cannot use the data folder {}: No such file or directory (os error 2)"),
        (&garbage, "cannot open {}/museum.db: the database is unavailable: file is not a database"),
    ] {
        let data = data.display().to_string();
        let said = refused(&serve(folder.path(), &["museum", "--data", &data]).output().unwrap());
        let expected = format!("triptych: {}", why.replace("{}", &data));
        assert!(said.starts_with(&expected), "{said}\n{expected}");
    }
}

#[test]
fn unusable_database_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(Engine::Postgres);
    let url = &store.flags()[1];
    let (server, _) = url.rsplit_once('/').unwrap();
    let unused_address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, why) in [
        (
            "mysql://localhost/museum".to_owned(),
            "the database must be a URL like postgres://user:password@host/database",
        ),
        ("museum".to_owned(), "the database must be a URL like postgres://user:password@host/database"),
        ("postgres://me:secret@localhost:port/x".to_owned(), "the database URL is not valid: "),
        (
            format!("postgres://me:secret@{unused_address}/x"),
            &*format!("cannot connect to the database at {unused_address}: "),
        ),
        (format!("{server}/no_such_database"), "cannot connect to the database at "),
    ] {
        let mut serve = serve(folder.path(), &["--database", &url]);
        let said = refused(&serve.env("TRIPTYCH_LIMITS_DATABASE_START_SECONDS", "0").output().unwrap());
        assert!(said.starts_with(&format!("triptych: {why}")), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn command_does_not_create_a_missing_database() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, service) in [
        (&["token", "train", "--user", "ada"][..], "train"),
        (&["user", "add", "museum", "ada"], "museum"),
        (&["user", "passwd", "petstore", "ada"], "petstore"),
        (&["user", "remove", "train", "ada"], "train"),
        (&["client", "add", "train", "App", "--confidential"], "train"),
        (&["client", "remove", "petstore", "app"], "petstore"),
        (&["key", "add", "petstore", "shop"], "petstore"),
        (&["key", "remove", "petstore", "shop"], "petstore"),
    ] {
        let said = refused(&bare(folder.path(), arguments).args(["--data", "mistyped"]).output().unwrap());
        let expected = format!(
            "triptych: there is no database of {service} in mistyped: check --data, or start triptych there once, which \
             makes it"
        );
        assert_eq!(said, expected, "{arguments:?}");
        assert!(!folder.path().join("mistyped").exists(), "{arguments:?}");
    }
}

#[test]
fn unusable_url_file_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("url");
    let shown = file.display().to_string();
    fs::write(&file, "postgres://me:secret@localhost/x\n").unwrap();
    let said = |arguments: &[&str]| refused(&serve(folder.path(), arguments).output().unwrap());
    let with_file = ["--database-file", &shown];
    for mode in [0o644, 0o604, 0o660, 0o602] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            said(&with_file),
            format!(
                "triptych: other users can read or change the database file {shown}: run chmod 600 {shown}"
            ),
            "{mode:o}"
        );
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let both = said(&["--database-file", &shown, "--database", "postgres://localhost/x"]);
    assert_eq!(both, "triptych: database and database_file exclude each other; give one of them");
    fs::write(&file, "\n").unwrap();
    assert_eq!(said(&with_file), format!("triptych: the database file {shown} is empty"));
    fs::write(&file, "secret").unwrap();
    let wrong = "triptych: the database must be a URL like postgres://user:password@host/database";
    assert_eq!(said(&with_file), wrong);
    fs::remove_file(&file).unwrap();
    let missing =
        format!("triptych: cannot read the database file {shown}: No such file or directory (os error 2)");
    assert_eq!(said(&with_file), missing);
}

#[test]
fn invalid_flags_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, word) in [
        (&["serve", "zoo"][..], "zoo"),
        (&["--museum-listen", "here"], "here"),
        (&["--colour", "red"], "--colour"),
        (&["user", "add", "museum"], "<NAME>"),
    ] {
        let output = bare(folder.path(), arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(word), "{said}");
    }
}

#[tokio::test]
async fn full_disk_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let said = refused(&limited(folder.path(), 8).output().unwrap());
    assert!(said.starts_with("triptych: cannot open "), "{said}");
}

#[tokio::test]
async fn full_disk_loses_no_acknowledged_write() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(&mut limited(folder.path(), 1200));
    let client = museum(&program);
    let order = json!({"ticketType": "general", "ticketDate": "2099-07-10", "email": "visitor@example.com"});
    let mut sold = Vec::new();
    let refusal = loop {
        let answer = client.post("/v1.1/tickets").json(&order).send().await;
        if answer.status != 201 {
            break answer;
        }
        sold.push(answer.header("location").to_owned());
        assert!(sold.len() < 10_000, "the disk never fills");
    };
    refusal.is_problem(503, "unavailable");
    assert_eq!(refusal.header("retry-after"), "5");
    // Requests without a write are still answered.
    for pass in sold.iter().rev().take(20) {
        client.get(pass).send().await.has_status(200);
    }
    program.kill();
    let roomy = Program::start(&mut serve(folder.path(), &["--data", "full"]));
    for pass in &sold {
        museum(&roomy).get(pass).send().await.has_status(200);
    }
    museum(&roomy).post("/v1.1/tickets").json(&order).send().await.has_status(201);
}

/// The program with a limit on the size of files, in blocks of 512 bytes: a full disk only for this process.
fn limited(folder: &Path, blocks: u32) -> Command {
    let program = serve(folder, &["--data", "full"]);
    let mut shell = Command::new("sh");
    // Ignored signals stay ignored: writing past the limit is then an error, as on a full disk, not the end.
    shell.args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "sh", &blocks.to_string()]);
    shell.arg(program.get_program()).args(program.get_args()).current_dir(folder);
    shell
}
