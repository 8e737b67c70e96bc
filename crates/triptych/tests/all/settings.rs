//! Settings: the file, then variables, then flags; nothing unknown.

use std::{fs, path::Path, process::Command};

use crate::common::{FREE_PORTS, bare, refused};

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
fn flag_overrides_variable_overrides_file_overrides_default() {
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
fn printed_config_is_a_valid_settings_file() {
    let folder = tempfile::tempdir().unwrap();
    let printed = config(&mut bare(folder.path(), &["config", "--museum-listen", "127.0.0.1:1004"]));
    fs::write(folder.path().join("other.toml"), &printed).unwrap();
    assert_eq!(config(&mut bare(folder.path(), &["config", "--config", "other.toml"])), printed);
    assert_eq!(config(bare(folder.path(), &["config"]).env("TRIPTYCH_CONFIG", "other.toml")), printed);
}

#[test]
fn database_password_is_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    let printed =
        config(&mut bare(folder.path(), &["config", "--database", "postgres://me:secret@host/base"]));
    assert_eq!(line(&printed, "database"), "database = \"postgres://me@host/base\"");
}

#[test]
fn registration_token_is_not_printed() {
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
fn invalid_settings_are_rejected_in_one_line_with_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let with_file = |text: &str| {
        fs::write(folder.path().join("triptych.toml"), text).unwrap();
        refused(&bare(folder.path(), &["config"]).output().unwrap())
    };
    let listen = "must be an address of this machine and a port, like 127.0.0.1:8080 or localhost:8080";
    let hours = "monday, tuesday, wednesday, thursday, friday, saturday, sunday";
    for (file, said) in [
        (
            "[museum.hours]\nfunday = \"closed\"",
            format!("museum.hours.funday is not a setting; [museum.hours] has {hours}"),
        ),
        ("demo = \"maybe\"", "demo is \"maybe\", but must be one of: auto, on, off".into()),
        (
            "today = \"soon\"",
            "today is \"soon\", but must be a date from 1970-01-01 to 9998-12-31, like 2026-05-01".into(),
        ),
        (
            "today = \"9999-01-02\"",
            "today is \"9999-01-02\", but must be a date from 1970-01-01 to 9998-12-31, like 2026-05-01".into(),
        ),
        ("data = 7", "data is 7, but must be text; in a variable, digits alone need quotation marks within it".into()),
        ("[museum]\nlisten = \"here\"", format!("museum.listen is \"here\", but {listen}")),
        ("admin_listen = \"a..b:80\"", format!("admin_listen is \"a..b:80\", but {listen}")),
        ("[limits]\nconnections = -1", "limits.connections is -1, but must be a whole number, 0 or more".into()),
        ("[limits]\nbody_bytes = 1.5", "limits.body_bytes is 1.5, but must be a whole number, 0 or more".into()),
        (
            "[train]\ncalls_per_hour = \"many\"",
            "train.calls_per_hour is \"many\", but must be a whole number from 0 to 4294967295".into(),
        ),
        (
            "[train]\ncalls_per_hour = 4294967296",
            "train.calls_per_hour is 4294967296, but must be a whole number from 0 to 4294967295".into(),
        ),
        (
            "trusted_proxies = \"10.0.0.0/8\"",
            "trusted_proxies is \"10.0.0.0/8\", but must be a list, like [\"one\", \"two\"]".into(),
        ),
        (
            "trusted_proxies = [\"proxy\"]",
            "trusted_proxies is [\"proxy\"], but must be a list of networks, like [\"10.0.0.0/8\"]".into(),
        ),
        ("museum = 5", "museum is 5, but must be a section of settings".into()),
        // What may be a secret is not shown.
        (
            "[train.oauth]\nregistration_token = 12345",
            "train.oauth.registration_token is (hidden), but must be text; in a variable, digits alone need quotation \
             marks within it"
                .into(),
        ),
    ] {
        assert_eq!(with_file(file), format!("triptych: {said} (in triptych.toml)"), "{file}");
    }
    for (file, said) in [
        ("[limits]\ndatabase_queue = 0", "limits.database_queue must be at least 1"),
        ("[limits]\nheader_seconds = 0", "limits.header_seconds must be at least 1"),
        ("[limits]\nbody_seconds = 0", "limits.body_seconds must be at least 1"),
        ("[limits]\nstall_seconds = 0", "limits.stall_seconds must be at least 1"),
        ("[petstore]\ncalls_per_hour = 0", "petstore.calls_per_hour must be at least 1"),
        ("[petstore]\nsign_ups_per_hour = 0", "petstore.sign_ups_per_hour must be at least 1"),
        ("[train]\nhold_seconds = 0", "train.hold_seconds must be at least 1"),
        ("[train]\nwebhook_lease_seconds = 0", "train.webhook_lease_seconds must be at least 1"),
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
            "[museum]\naddress = \"https://Museum.example.com\"",
            "museum.address must be like https://pets.example.com",
        ),
        // Which settings there are is not repeated here.
        ("colour = \"red\"", "colour is not a setting; there are data, database, "),
        ("[zoo]\n", "zoo is not a setting; there are data, "),
        ("[museum]\ncolour = \"red\"", "museum.colour is not a setting; [museum] has listen, address, "),
        (
            "[petstore.oauth]\ncolour = \"red\"",
            "petstore.oauth.colour is not a setting; [petstore.oauth] has issuer, ",
        ),
        ("data = \"x\"\nnot toml", "triptych.toml is not valid TOML, in line 2: "),
    ] {
        let line = with_file(file);
        assert!(line.starts_with(&format!("triptych: {said}")), "{file}: {line}");
    }
    fs::remove_file(folder.path().join("triptych.toml")).unwrap();
    let variable = |name: &str, value: &str| {
        refused(&bare(folder.path(), &["config"]).env(name, value).output().unwrap())
    };
    let unknown = variable("TRIPTYCH_MUSEUM_COLOUR", "red");
    assert!(unknown.starts_with("triptych: museum.colour is not a setting; [museum] has "), "{unknown}");
    assert!(unknown.ends_with(" (in TRIPTYCH_MUSEUM_COLOUR)"), "{unknown}");
    assert_eq!(
        variable("TRIPTYCH_TRAIN_HOLD_SECONDS", "an hour"),
        "triptych: train.hold_seconds is \"an hour\", but must be a whole number from 0 to 4294967295 \
         (in TRIPTYCH_TRAIN_HOLD_SECONDS)"
    );
    let flag = refused(&bare(folder.path(), &["config", "--train-listen", "there"]).output().unwrap());
    assert_eq!(flag, format!("triptych: train.listen is \"there\", but {listen}"));
    let missing = refused(&bare(folder.path(), &["config", "--config", "nowhere.toml"]).output().unwrap());
    assert_eq!(missing, "triptych: there is no settings file nowhere.toml");
}

#[test]
fn kubernetes_service_variables_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let plain = config(&mut bare(folder.path(), &["config"]));
    let mut command = bare(folder.path(), &["config"]);
    for (name, value) in [
        ("TRIPTYCH_SERVICE_HOST", "10.0.0.7"),
        ("TRIPTYCH_SERVICE_PORT", "8080"),
        ("TRIPTYCH_SERVICE_PORT_PETSTORE", "8080"),
        ("TRIPTYCH_PORT", "tcp://10.0.0.7:8080"),
        ("TRIPTYCH_PORT_8080_TCP", "tcp://10.0.0.7:8080"),
        ("TRIPTYCH_PORT_8080_TCP_PROTO", "tcp"),
        ("TRIPTYCH_PORT_8080_TCP_PORT", "8080"),
        ("TRIPTYCH_PORT_8080_TCP_ADDR", "10.0.0.7"),
        ("TRIPTYCH_MUSEUM_SERVICE_HOST", "10.0.0.8"),
        ("TRIPTYCH_MUSEUM_PORT", "tcp://10.0.0.8:8082"),
    ] {
        command.env(name, value);
    }
    assert_eq!(config(&mut command), plain);
    // A number is meant as a setting, and an unknown setting is an error.
    let port = refused(&bare(folder.path(), &["config"]).env("TRIPTYCH_PORT", "8080").output().unwrap());
    assert!(port.starts_with("triptych: port is not a setting; there are "), "{port}");
    assert!(port.ends_with(" (in TRIPTYCH_PORT)"), "{port}");
}

#[test]
fn settings_can_be_before_or_after_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let before = config(&mut bare(folder.path(), &["--museum-listen", "127.0.0.1:7", "--no-demo", "config"]));
    let after = config(&mut bare(folder.path(), &["config", "--museum-listen", "127.0.0.1:7", "--no-demo"]));
    assert_eq!(before, after);
    assert_eq!(line(section(&before, "museum"), "listen"), "listen = \"127.0.0.1:7\"");
    assert_eq!(line(&before, "demo"), "demo = \"off\"");
    let both = ["--data", "first", "config", "--data", "second"];
    assert_eq!(line(&config(&mut bare(folder.path(), &both)), "data"), "data = \"second\"");
    let user = ["--data", "nowhere", "user", "remove", "museum", "ada"];
    let said = refused(&bare(folder.path(), &user).output().unwrap());
    assert!(said.contains(" in nowhere: "), "{said}");
}

#[test]
fn demo_and_no_demo_exclude_each_other() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["config", "--demo", "--no-demo"][..],
        &["--demo", "--no-demo"],
        &["--no-demo", "serve", "museum", "--demo"],
    ] {
        let said = refused(&bare(folder.path(), arguments).output().unwrap());
        assert_eq!(said, "triptych: --demo and --no-demo exclude each other; give one of them");
    }
}

#[test]
fn listener_can_be_set_by_a_host_name() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["config", "--petstore-listen", "localhost:8080", "--admin-listen=localhost:0"];
    let printed = config(&mut bare(folder.path(), &flags));
    assert_eq!(line(section(&printed, "petstore"), "listen"), "listen = \"127.0.0.1:8080\"");
    assert_eq!(line(&printed, "admin_listen"), "admin_listen = \"127.0.0.1:0\"");
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
    let levels = "error, warn, info, debug, trace or off, or that by part, like warn,museum=debug";
    for log in ["chatty", "museum=loud", "museum"] {
        let said = format!("triptych: log is {log:?}, but must be {levels}");
        assert_eq!(start("TRIPTYCH_LOG", log), said);
    }
    assert!(!Path::new(&folder.path().join("triptych-data")).exists(), "nothing was made");
}
