//! Settings: the file, then variables, then flags; nothing unknown.

#![allow(clippy::unwrap_used)]

mod common;

use std::{fs, path::Path, process::Command};

use common::{FREE_PORTS, bare, refused};

fn config(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn line<'a>(config: &'a str, key: &str) -> &'a str {
    let start = format!("{key} = ");
    config.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no {key} in {config}"))
}

/// The lines of one section of the settings.
fn section<'a>(config: &'a str, name: &str) -> &'a str {
    let start = format!("[{name}]\n");
    let rest = config.split_once(&start).unwrap_or_else(|| panic!("no {start} in {config}")).1;
    rest.split("\n[").next().unwrap()
}

#[test]
fn a_flag_comes_before_a_variable_before_the_file_before_the_default() {
    let folder = tempfile::tempdir().unwrap();
    let plain = config(&mut bare(folder.path(), &["config"]));
    assert_eq!(line(section(&plain, "museum"), "listen"), "listen = \"127.0.0.1:8082\"");
    assert_eq!(line(&plain, "data"), "data = \"./triptych-data\"");
    assert_eq!(line(&plain, "demo"), "demo = \"auto\"");
    assert_eq!(line(&plain, "friday"), "friday = \"10:00-16:00\"");

    fs::write(
        folder.path().join("triptych.toml"),
        "data = \"from-file\"\n[museum]\nlisten = \"127.0.0.1:1001\"\ntimezone = \"Asia/Tokyo\"\n\
         [museum.hours]\nfriday = \"closed\"\n[limits]\nbody_bytes = 5\n",
    )
    .unwrap();
    let file = config(&mut bare(folder.path(), &["config"]));
    assert_eq!(line(&file, "data"), "data = \"from-file\"");
    assert_eq!(line(section(&file, "museum"), "listen"), "listen = \"127.0.0.1:1001\"");
    assert_eq!(line(&file, "timezone"), "timezone = \"Asia/Tokyo\"");
    assert_eq!(line(&file, "friday"), "friday = \"closed\"");
    assert_eq!(line(&file, "body_bytes"), "body_bytes = 5");

    let variables = |command: &mut Command| {
        config(
            command
                .env("TRIPTYCH_MUSEUM_LISTEN", "127.0.0.1:1002")
                .env("TRIPTYCH_MUSEUM_HOURS_FRIDAY", "11:00-12:00")
                .env("TRIPTYCH_LIMITS_BODY_BYTES", "6")
                .env("TRIPTYCH_DEMO", "off"),
        )
    };
    let both = variables(&mut bare(folder.path(), &["config"]));
    assert_eq!(line(&both, "data"), "data = \"from-file\"");
    assert_eq!(line(section(&both, "museum"), "listen"), "listen = \"127.0.0.1:1002\"");
    assert_eq!(line(&both, "friday"), "friday = \"11:00-12:00\"");
    assert_eq!(line(&both, "body_bytes"), "body_bytes = 6");
    assert_eq!(line(&both, "demo"), "demo = \"off\"");

    let flags = ["config", "--museum-listen", "127.0.0.1:1003", "--demo", "--data", "from-flag"];
    let all = variables(&mut bare(folder.path(), &flags));
    assert_eq!(line(section(&all, "museum"), "listen"), "listen = \"127.0.0.1:1003\"");
    assert_eq!(line(&all, "demo"), "demo = \"on\"");
    assert_eq!(line(&all, "data"), "data = \"from-flag\"");
}

#[test]
fn what_config_prints_can_be_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let printed = config(&mut bare(folder.path(), &["config", "--museum-listen", "127.0.0.1:1004"]));
    fs::write(folder.path().join("other.toml"), &printed).unwrap();
    assert_eq!(config(&mut bare(folder.path(), &["config", "--config", "other.toml"])), printed);
    assert_eq!(config(bare(folder.path(), &["config"]).env("TRIPTYCH_CONFIG", "other.toml")), printed);
}

#[test]
fn a_database_password_is_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    let printed =
        config(&mut bare(folder.path(), &["config", "--database", "postgres://me:secret@host/base"]));
    assert_eq!(line(&printed, "database"), "database = \"postgres://me@host/base\"");
}

#[test]
fn a_registration_token_is_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = bare(folder.path(), &["config"]);
    command
        .env("TRIPTYCH_TRAIN_OAUTH_REGISTRATION_TOKEN", "hush")
        .env("TRIPTYCH_PETSTORE_OAUTH_ISSUER", "https://id.example.com");
    let printed = config(&mut command);
    assert_eq!(
        line(section(&printed, "train.oauth"), "registration_token"),
        "registration_token = \"(hidden)\""
    );
    assert_eq!(line(section(&printed, "petstore.oauth"), "registration_token"), "registration_token = \"\"");
    assert_eq!(line(section(&printed, "petstore.oauth"), "issuer"), "issuer = \"https://id.example.com\"");
    assert!(!printed.contains("hush"), "{printed}");
    let flags =
        ["config", "--train-issuer", "https://other.example.com", "--petstore-listen", "127.0.0.1:1005"];
    let printed = config(&mut bare(folder.path(), &flags));
    assert_eq!(line(section(&printed, "train.oauth"), "issuer"), "issuer = \"https://other.example.com\"");
    assert_eq!(line(section(&printed, "petstore"), "listen"), "listen = \"127.0.0.1:1005\"");
}

#[test]
fn settings_that_make_no_sense_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let with_file = |text: &str| {
        fs::write(folder.path().join("triptych.toml"), text).unwrap();
        refused(&bare(folder.path(), &["config"]).output().unwrap())
    };
    for (file, said) in [
        ("colour = \"red\"", "unknown field: found `colour`"),
        ("[museum]\ncolour = \"red\"", "unknown field: found `colour`"),
        ("[museum.hours]\nfunday = \"closed\"", "unknown field: found `funday`"),
        ("[zoo]\n", "unknown field: found `zoo`"),
        ("demo = \"maybe\"", "unknown variant: found `maybe`"),
        ("[museum]\nlisten = \"here\"", "invalid socket address"),
        ("[limits]\nconnections = -1", "invalid"),
        ("[limits]\ndatabase_queue = 0", "limits.database_queue must be at least 1"),
        ("[petstore.oauth]\ncolour = \"red\"", "unknown field: found `colour`"),
        ("[petstore]\ncalls_per_hour = 0", "petstore.calls_per_hour must be at least 1"),
        ("[train]\nhold_seconds = 0", "train.hold_seconds must be at least 1"),
        ("[train]\naddress = \"trains.example.com\"", "train.address must be a complete address like"),
        (
            "[train]\naddress = \"ftp://trains.example.com\"",
            "train.address must begin with https:// or http://",
        ),
        ("[petstore]\naddress = \"https://pets.example.com/\"", "petstore.address must not end with a slash"),
        (
            "[petstore]\naddress = \"https://example.com/pets\"",
            "petstore.address must be a host without a path",
        ),
        (
            "[petstore]\naddress = \"https://Pets.example.com\"",
            "petstore.address must be like https://pets.example.com",
        ),
        ("not toml", "TOML"),
    ] {
        let line = with_file(file);
        assert!(line.contains(said), "{file}: {line}");
    }
    fs::remove_file(folder.path().join("triptych.toml")).unwrap();
    let variable = refused(&bare(folder.path(), &["config"]).env("TRIPTYCH_COLOUR", "red").output().unwrap());
    assert!(variable.contains("unknown field: found `colour`"), "{variable}");
    let missing = refused(&bare(folder.path(), &["config", "--config", "nowhere.toml"]).output().unwrap());
    assert_eq!(missing, "triptych: there is no settings file nowhere.toml");
}

#[test]
fn settings_of_the_museum_and_the_log_are_checked_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let start = |name: &str, value: &str| {
        refused(&bare(folder.path(), FREE_PORTS).env(name, value).output().unwrap())
    };
    assert_eq!(
        start("TRIPTYCH_MUSEUM_TIMEZONE", "Mars/Olympus"),
        "triptych: museum.timezone is \"Mars/Olympus\", but must be the name of a timezone, like Europe/Amsterdam"
    );
    assert_eq!(
        start("TRIPTYCH_MUSEUM_HOURS_MONDAY", "late"),
        "triptych: museum.hours.monday is \"late\", but must be like 09:00-18:00, or closed"
    );
    assert!(start("TRIPTYCH_LOG", "museum=loud").starts_with("triptych: the setting log is not valid"));
    assert!(!Path::new(&folder.path().join("triptych-data")).exists(), "nothing was made");
}
