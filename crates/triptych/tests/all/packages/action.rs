//! The action of GitHub: its two scripts, as a job runs them.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;
use testkit::Client;

use super::{PACKAGES, archive, tool, yaml};
use crate::common::output_of;

/// A job on a runner of GitHub.
struct Job(TempDir);

impl Job {
    fn new() -> Self {
        Job(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn step(&self, script: &str, variables: &[(&str, &str)]) -> Output {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_triptych"));
        let path = format!(
            "{}:{}",
            program.parent().unwrap().display(),
            std::env::var_os("PATH").unwrap().display()
        );
        let architecture = if cfg!(target_arch = "aarch64") { "ARM64" } else { "X64" };
        tool(script)
            .env("PATH", path)
            .env("RUNNER_TEMP", self.0.path())
            .env("RUNNER_OS", "Linux")
            .env("RUNNER_ARCH", architecture)
            .env("GITHUB_OUTPUT", self.path("output"))
            .env("GITHUB_ENV", self.path("environment"))
            .env("GITHUB_PATH", self.path("path"))
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    /// The lines `name=value` of a file.
    fn pairs(&self, file: &str) -> BTreeMap<String, String> {
        let text = fs::read_to_string(self.path(file)).unwrap();
        text.lines().map(|line| line.split_once('=').unwrap()).map(|(k, v)| (k.into(), v.into())).collect()
    }
}

impl Drop for Job {
    /// Stops the server of the job.
    fn drop(&mut self) {
        if let Ok(text) = fs::read_to_string(self.path("triptych/ready.json")) {
            let ready: Value = serde_json::from_str(&text).unwrap();
            let _ = Command::new("kill").arg(ready["pid"].to_string()).output();
        }
    }
}

/// The one line of an error, as GitHub shows it.
fn error(output: &Output) -> String {
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find_map(|line| line.strip_prefix("::error title=Triptych::"));
    line.unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[tokio::test]
async fn job_gets_a_sandbox_of_a_running_server() {
    let job = Job::new();
    let output = job.step("action-start", &[("SANDBOX", "job")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (outputs, environment) = (job.pairs("output"), job.pairs("environment"));

    let action = yaml("action.yml");
    let declared = action["outputs"].as_object().unwrap();
    assert_eq!(outputs.keys().collect::<Vec<_>>(), sorted(declared.keys()));
    for (name, output) in declared {
        assert_eq!(output["value"], format!("${{{{ steps.start.outputs.{name} }}}}"));
    }

    let ready: Value =
        serde_json::from_str(&fs::read_to_string(&environment["TRIPTYCH_READY_FILE"]).unwrap()).unwrap();
    let service = |at: usize| ready["services"][at]["base_url"].as_str().unwrap();
    let (pets, trains) = (service(0), service(1));
    let server = pets.strip_suffix("/v3").unwrap();
    for (output, variable, value) in [
        ("petstore-url", "TRIPTYCH_PETSTORE_URL", format!("{server}/sandbox/job/v3")),
        ("train-url", "TRIPTYCH_TRAIN_URL", format!("{trains}/sandbox/job")),
        ("control-url", "TRIPTYCH_CONTROL_URL", format!("{server}/sandbox/job/_control")),
    ] {
        assert_eq!((&outputs[output], &environment[variable]), (&value, &value));
    }
    assert_eq!(environment["TRIPTYCH_SERVER"], server);
    assert_eq!(environment["TRIPTYCH_SANDBOX"], "job");
    assert_eq!(environment["TRIPTYCH_OPERATOR_TOKEN"], ready["operator_token"].as_str().unwrap());
    assert_eq!(environment["TRIPTYCH_CONTROL_TOKEN"], outputs["control-token"]);
    assert_eq!(
        (&*outputs["username"], &*outputs["password"], &*outputs["client-id"]),
        ("demo", "demo", "demo")
    );

    // The tokens do not appear in the log of the job.
    let masks: Vec<_> = ["TRIPTYCH_OPERATOR_TOKEN", "TRIPTYCH_CONTROL_TOKEN"]
        .iter()
        .map(|name| format!("::add-mask::{}\n", environment[*name]))
        .collect();
    assert_eq!(String::from_utf8_lossy(&output.stdout), masks.concat());

    let address = server.strip_prefix("http://").unwrap().parse().unwrap();
    let pets = Client::new(address);
    let pet = pets.get("/sandbox/job/v3/pet/1").header("api_key", &outputs["api-key"]).send().await;
    assert_eq!(pet.has_status(200).json()["name"], "Minka");
    assert!(PathBuf::from(&outputs["log"]).is_file());
}

fn sorted<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn job_shows_why_the_server_or_its_sandbox_did_not_start() {
    let job = Job::new();
    let output = job.step("action-start", &[("SANDBOX", "job"), ("TRIPTYCH_LOG", "loud")]);
    assert_eq!(error(&output), "the server did not start");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("triptych: log is \"loud\", but must be "), "{said}");
    let job = Job::new();
    let output = job.step("action-start", &[("SANDBOX", "Not A Name")]);
    assert_eq!(error(&output), "the sandbox Not A Name was not created");
    assert!(!job.path("output").exists());
}

#[test]
fn job_downloads_the_program_and_checks_it() {
    let (job, version) = (Job::new(), env!("CARGO_PKG_VERSION"));
    let releases = job.path("releases");
    let release = releases.join(format!("v{version}"));
    fs::create_dir_all(&release).unwrap();
    let file = format!("{}.tar.gz", archive());
    fs::copy(PACKAGES.path(&file), release.join(&file)).unwrap();
    let sums = output_of(Command::new("sha256sum").arg(&file).current_dir(&release)) + "\n";
    fs::write(release.join("SHA256SUMS"), &sums).unwrap();
    let url = format!("file://{}", releases.display());
    let download = |variables: &[(&str, &str)]| {
        let tag = format!("v{version}");
        job.step("action-download", &[&[("RELEASES", &*url), ("VERSION", &tag)], variables].concat())
    };

    let output = download(&[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let added = fs::read_to_string(job.path("path")).unwrap();
    let said = output_of(Command::new(PathBuf::from(added.trim_end()).join("triptych")).arg("--version"));
    assert_eq!(said, format!("triptych {version}"));

    assert_eq!(
        error(&download(&[("VERSION", "main")])),
        "the version is \"main\": use the action by the tag of a release, or set version, as in 0.1.0"
    );
    assert_eq!(
        error(&download(&[("VERSION", "9.9.9")])),
        format!("cannot download {url}/v9.9.9/{}", file.replace(version, "9.9.9"))
    );
    assert_eq!(
        error(&download(&[("RUNNER_OS", "Windows"), ("RUNNER_ARCH", "X64")])),
        "there is no program for Windows on X64: use a runner with Linux on X64 or ARM64"
    );
    let changed = format!("{file} has another checksum than SHA256SUMS says");
    for wrong in [format!("{}{}", "0".repeat(64), &sums[64..]), String::new()] {
        fs::write(release.join("SHA256SUMS"), wrong).unwrap();
        assert_eq!(error(&download(&[])), changed);
    }
    // The program is added to the path only once it is checked.
    assert_eq!(fs::read_to_string(job.path("path")).unwrap(), added);
}
