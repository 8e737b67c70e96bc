//! The processes: chromedriver, and the browser that it starts.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

const MISSING: &str = "the tests need a browser: install Chromium and its WebDriver (Debian: apt-get install \
                       chromium-headless-shell chromium-driver), or put chromium and chromedriver on the PATH";

/// Runs chromedriver until its standard input is closed, which happens at the latest when this process ends, and then ends its process
/// group, with the browser, and deletes the profile and the temporary files of both.
const LEASH: &str = r#"
    TMPDIR=$2 setsid "$1" --port=0 </dev/null &
    exec >/dev/null
    read -r _
    kill -KILL "-$!"
    wait
    rm -rf "$2"
"#;

/// How often chromedriver is started until it has a port.
const ATTEMPTS: usize = 5;

/// A chromedriver, for one test at a time.
pub(super) struct Driver {
    child: Child,
    pub(super) port: u16,
    pub(super) profile: PathBuf,
    // Kept open: a program whose standard output is closed ends at its next line.
    stdout: BufReader<ChildStdout>,
}

impl Driver {
    /// Starts it on a free port, which it chooses and prints. It ends if the port is free for IPv6 only: then it is started again.
    pub(super) fn start() -> Self {
        let program = on_path(&["chromedriver"]).unwrap_or_else(|| panic!("{MISSING}"));
        let mut printed = String::new();
        let started = (0..ATTEMPTS).find_map(|_| match Driver::attempt(&program) {
            Ok(driver) => Some(driver),
            Err(output) => {
                printed = output;
                None
            }
        });
        started.unwrap_or_else(|| panic!("chromedriver ended before it was ready; it printed: {printed}"))
    }

    /// The error is what it printed before it ended.
    fn attempt(program: &Path) -> Result<Self, String> {
        let profile = tempfile::tempdir().expect("a temporary folder").keep();
        let mut child = Command::new("sh")
            .args(["-c", LEASH, "leash"])
            .arg(program)
            .arg(&profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("chromedriver starts");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let mut driver = Driver { child, port: 0, profile, stdout };
        let mut output = String::new();
        while driver.port == 0 {
            let start = output.len();
            let read = driver.stdout.read_line(&mut output).expect("its output is text");
            if read == 0 {
                return Err(output);
            }
            let port = output[start..].split("started successfully on port ").nth(1);
            driver.port =
                port.and_then(|rest| rest.trim_end().trim_end_matches('.').parse().ok()).unwrap_or(0);
        }
        Ok(driver)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Waiting closes its input.
        let _ = self.child.wait();
    }
}

/// The browser that chromedriver starts.
pub(super) struct Chromium {
    pub(super) binary: PathBuf,
    /// As WebDriver calls it.
    pub(super) name: &'static str,
    pub(super) headless: Option<&'static str>,
}

impl Chromium {
    /// The browser without windows, if there is one: the same engine, and a third of the processor time to start it and for each page.
    pub(super) fn find() -> Self {
        if let Some(binary) = on_path(&["chromium-headless-shell", "chrome-headless-shell"]) {
            return Chromium { binary, name: "chrome-headless-shell", headless: None };
        }
        let binary = on_path(&["chromium", "google-chrome"]).unwrap_or_else(|| panic!("{MISSING}"));
        Chromium { binary, name: "chrome", headless: Some("--headless=new") }
    }
}

fn on_path(programs: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates =
        programs.iter().flat_map(|program| std::env::split_paths(&path).map(move |dir| dir.join(program)));
    candidates.find(|candidate| candidate.is_file())
}
