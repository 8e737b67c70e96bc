//! Schemathesis: requests that the OpenAPI document of a service allows, and requests that it forbids.

use std::{net::SocketAddr, path::Path, process::Command};

use crate::Client;

/// A service of a demo, with credentials for all its operations.
pub struct Schemathesis {
    address: SocketAddr,
    session: String,
    token: String,
}

impl Schemathesis {
    /// For a service at an address, with an access token if it takes tokens.
    pub async fn new(service: &str, address: SocketAddr, token: &str) -> Self {
        let session = match service {
            "petstore" => {
                let login =
                    Client::new(address).get("/v3/user/login?username=demo&password=demo").send().await;
                login.json().as_str().expect("a session").to_owned()
            }
            _ => String::new(),
        };
        Schemathesis { address, session, token: token.to_owned() }
    }

    /// Runs it in a folder with these flags. Gives what it printed; as an error if it found something that
    /// `crates/triptych/tests/schemathesis/exceptions.toml` gives no reason for.
    pub fn run(&self, flags: &[String], folder: &Path) -> Result<String, String> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let settings = crates.join("triptych/tests/schemathesis");
        let program = crates.join("../target/schemathesis/bin/schemathesis");
        let output = Command::new(&program)
            .arg("--config-file")
            .arg(settings.join("schemathesis.toml"))
            .args(["run", "--no-color"])
            .args(flags)
            .arg(format!("http://{}/openapi.json", self.address))
            .current_dir(folder)
            .env("SCHEMATHESIS_HOOKS", settings.join("hooks.py"))
            .env("ACCESS_TOKEN", &self.token)
            .env("SESSION", &self.session)
            .output();
        let output =
            output.unwrap_or_else(|error| panic!("{}: {error}; run tools/install", program.display()));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // It found the operations, and had something to send them.
        let has_run = said.contains("Coverage") && said.contains("Fuzzing") && said.contains(" generated");
        if output.status.success() && has_run {
            return Ok(said);
        }
        Err(format!("{said}{}", String::from_utf8_lossy(&output.stderr)))
    }
}
