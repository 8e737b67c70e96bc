//! The image and the Compose file.

use std::{fs, process::Command};

use serde_json::{Value, json};
use testkit::{Client, Program};

use super::{lint, texts, yaml};
use crate::{
    common::{bare, output_of},
    docs::{blocks, root},
};

/// The instructions of the Dockerfile's last stage, with their arguments.
fn instructions() -> Vec<(String, String)> {
    let file = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let lines = file.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let all: Vec<_> = lines
        .replace("\\\n", " ")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, rest)| (name.to_owned(), rest.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect();
    let last = all.iter().rposition(|(name, _)| name == "FROM").unwrap();
    all[last..].to_vec()
}

fn only(name: &str) -> String {
    let instructions = instructions();
    let found: Vec<_> = instructions.iter().filter(|(found, _)| found == name).collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0].1.clone()
}

/// The variables that the image sets.
fn variables() -> Vec<(String, String)> {
    let pairs = only("ENV");
    pairs.split(' ').filter_map(|pair| pair.split_once('=')).map(|(k, v)| (k.into(), v.into())).collect()
}

#[test]
fn dockerfile_has_no_faults() {
    assert_eq!(lint("hadolint", &["Dockerfile"]), "");
}

#[test]
fn build_of_the_image_gets_every_member_of_the_workspace() {
    let rules = fs::read_to_string(root().join(".dockerignore")).unwrap();
    let context = tempfile::tempdir().unwrap();
    let admitted = rules.lines().filter_map(|rule| rule.strip_prefix('!'));
    output_of(
        Command::new("cp").args(["-r", "--parents"]).args(admitted).arg(context.path()).current_dir(root()),
    );
    // The only rule that excludes a part of what is admitted.
    assert!(rules.lines().any(|rule| rule == "crates/*/tests"), "{rules}");
    for member in fs::read_dir(context.path().join("crates")).unwrap() {
        let tests = member.unwrap().path().join("tests");
        if tests.exists() {
            fs::remove_dir_all(tests).unwrap();
        }
    }
    // Cargo refuses a workspace that lacks a member.
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--offline", "--no-deps", "--format-version=1"]).current_dir(context.path());
    let found: Value = serde_json::from_str(&output_of(&mut cargo)).unwrap();
    let names = found["packages"].as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap());
    assert!(names.clone().any(|name| name == "triptych"), "{:?}", names.collect::<Vec<_>>());
}

#[test]
fn image_has_an_unprivileged_user_a_volume_and_a_health_check() {
    assert_eq!(only("USER"), "65532:65532");
    assert_eq!(only("VOLUME"), "/var/lib/triptych");
    assert_eq!(only("WORKDIR"), "/etc/triptych");
    assert_eq!(only("EXPOSE"), "8080 8081 8082 8090");
    assert_eq!(only("ENTRYPOINT"), "[\"/usr/bin/triptych\"]");
    assert_eq!(only("CMD"), "[\"serve\"]");
    let check = only("HEALTHCHECK");
    assert!(check.ends_with(" CMD [\"/usr/bin/triptych\", \"health\"]"), "{check}");
    let labels = only("LABEL");
    for label in ["title", "description", "licenses", "version", "source", "revision"] {
        assert!(labels.contains(&format!("org.opencontainers.image.{label}=\"")), "{label}");
    }
    // Nothing runs in the last stage: it has no shell, and may be for another processor.
    assert!(instructions().iter().all(|(name, _)| name != "RUN"));
}

/// The program with the variables of the image, on free ports and in another folder.
#[tokio::test]
async fn program_in_the_image_listens_for_other_machines_without_a_demo() {
    let folder = tempfile::tempdir().unwrap();
    let with_variables = |arguments: &[&str], ports: &dyn Fn(&str) -> u16| {
        let mut command = bare(folder.path(), arguments);
        for (name, value) in variables() {
            let value = match value.rsplit_once(':') {
                Some((host, _)) => {
                    let service = name.trim_start_matches("TRIPTYCH_").trim_end_matches("_LISTEN");
                    format!("{host}:{}", ports(&service.to_lowercase()))
                }
                None => value.replace("/var/lib/triptych", folder.path().to_str().unwrap()),
            };
            command.env(name, value);
        }
        command
    };
    let program = Program::start(&mut with_variables(&["serve"], &|_| 0));
    assert!(program.said().contains("without demo data"), "{}", program.said());
    let museum = program.address("museum");
    assert!(museum.ip().is_unspecified(), "{museum}");
    let ticket = json!({"ticketType": "general", "ticketDate": "2099-05-17", "email": "todd@example.com"});
    let museum = Client::new(([127, 0, 0, 1], museum.port()).into()).signed_in("demo", "demo");
    museum.post("/v1.1/tickets").json(&ticket).send().await.has_status(401);
    assert!(folder.path().join("data/museum.db").is_file());
    let healthy = output_of(&mut with_variables(&["health"], &|name| program.address(name).port()));
    assert_eq!(healthy.lines().count(), 4, "{healthy}");
}

fn compose() -> Value {
    yaml("compose.yaml")
}

#[test]
fn compose_file_is_valid() {
    lint("check-jsonschema", &["--builtin-schema", "vendor.compose-spec", "compose.yaml"]);
}

#[test]
fn services_of_compose_are_restricted_and_start_in_order() {
    let compose = compose();
    let services = compose["services"].as_object().unwrap();
    assert_eq!(services.keys().collect::<Vec<_>>(), ["nginx", "postgres", "triptych-1", "triptych-2"]);
    assert_eq!(services["triptych-1"], services["triptych-2"]);
    for (name, service) in services {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(service["cap_drop"], json!(["ALL"]), "{name}");
        assert_eq!(service["security_opt"], json!(["no-new-privileges:true"]), "{name}");
        assert!(service["healthcheck"]["test"].is_array(), "{name}");
        assert_eq!(service["ports"].is_array(), name == "nginx", "{name}");
    }
    let after = |service: &str| {
        let needs = services[service]["depends_on"].as_object().unwrap();
        assert!(needs.values().all(|need| *need == json!({"condition": "service_healthy"})), "{service}");
        needs.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(after("triptych-1"), ["postgres"]);
    assert_eq!(after("nginx"), ["triptych-1", "triptych-2"]);
    assert!(services["triptych-1"].get("cap_add").is_none());
    // Only the processes reach PostgreSQL, which reaches nothing.
    assert_eq!(services["nginx"]["networks"], json!(["front"]));
    assert_eq!(services["postgres"]["networks"], json!(["database"]));
    assert_eq!(compose["networks"]["database"], json!({"internal": true}));
}

/// The command of the guide makes the files, and the program accepts them together with the variables.
#[test]
fn settings_of_compose_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let guide = fs::read_to_string(root().join("docs/operating.md")).unwrap();
    let blocks = blocks(&guide);
    let command = blocks.iter().find(|block| block.text.contains("secrets/triptych.toml")).unwrap();
    output_of(Command::new("sh").args(["-e", "-c", &command.text]).current_dir(folder.path()));
    let compose = compose();
    let secrets = compose["secrets"].as_object().unwrap();
    for (name, secret) in secrets {
        let file = secret["file"].as_str().unwrap();
        assert!(folder.path().join(file).is_file(), "{name}: {file}");
    }
    let service = &compose["services"]["triptych-1"];
    let settings = &service["secrets"][0];
    assert_eq!(settings["target"], format!("{}/triptych.toml", only("WORKDIR")));
    let file = secrets[settings["source"].as_str().unwrap()]["file"].as_str().unwrap();
    let mut command = bare(folder.path(), &["config", "--config", file]);
    command.envs(variables());
    for (name, value) in service["environment"].as_object().unwrap() {
        command.env(name, value.as_str().unwrap());
    }
    let shown = output_of(&mut command);
    let network = compose["networks"]["front"]["ipam"]["config"][0]["subnet"].as_str().unwrap();
    for line in [
        "database = \"postgres://triptych@postgres/triptych\"",
        "secret = \"(hidden)\"",
        &format!("trusted_proxies = [\"{network}\"]"),
        "address = \"https://museum.example.com\"",
        "listen = \"0.0.0.0:8082\"",
    ] {
        assert!(shown.contains(&format!("\n{line}\n")), "{line} in {shown}");
    }
    let password = fs::read_to_string(folder.path().join("secrets/postgres-password")).unwrap();
    assert_eq!(password.len(), 64);
    assert!(fs::read_to_string(folder.path().join(file)).unwrap().contains(&format!(":{password}@")));
}

/// nginx of Compose reaches the processes by their names, with the file that is for one machine.
#[test]
fn nginx_of_compose_finds_both_processes() {
    let folder = tempfile::tempdir().unwrap();
    let compose = compose();
    let command = texts(&compose["services"]["nginx"]["command"]);
    assert_eq!(command[..2], ["sh", "-ec"]);
    let start = "exec nginx -g 'daemon off;'\n";
    assert!(command[2].ends_with(start), "{}", command[2]);
    let script = command[2]
        .replace(start, "")
        .replace("/etc/triptych/nginx.conf", "nginx.conf")
        .replace("/etc/nginx/conf.d/triptych.conf", "triptych.conf");
    fs::copy(root().join("ops/nginx.conf"), folder.path().join("nginx.conf")).unwrap();
    output_of(Command::new("sh").args(["-ec", &script]).current_dir(folder.path()));
    let written = fs::read_to_string(folder.path().join("triptych.conf")).unwrap();
    let servers = written.lines().filter_map(|line| line.trim().strip_prefix("server "));
    let servers: Vec<_> = servers.filter_map(|server| server.strip_suffix(" max_fails=0;")).collect();
    let expected =
        ["8080", "8081", "8082"].map(|port| [1, 2].map(|number| format!("triptych-{number}:{port}")));
    assert_eq!(servers, expected.concat());
    assert!(!written.contains("127.0.0.1:8"), "{written}");
    for file in ["certificate", "key"] {
        let secrets = compose["services"]["nginx"]["secrets"].as_array().unwrap();
        let secret = secrets.iter().find(|secret| secret["source"] == file).unwrap();
        assert!(written.contains(&format!("{};", secret["target"].as_str().unwrap())), "{secret}");
    }
    assert_eq!(
        texts(&compose["services"]["nginx"]["volumes"]),
        ["./ops/nginx.conf:/etc/triptych/nginx.conf:ro"]
    );
}
