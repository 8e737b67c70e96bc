//! The guide to an installation of two processes: its commands, run one after the other in one shell, with real PostgreSQL, nginx and
//! Prometheus.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::docs::{Block, blocks, matches, root};
use serde_json::Value;
use testkit::Owner;

/// The first word of the language of the blocks.
const COMMANDS: &str = "sh installation";

/// The commands that wait for Prometheus.
const WATCHED: &str = "sh installation watched";

/// What ends everything that the guide starts, if a command of it fails.
const END: &str = "
    cd installation || exit
    for file in *.pid; do kill \"$(cat \"$file\")\"; done
    kill -INT \"$(head -n 1 postgres/postmaster.pid)\"";

/// The shell of the reader. It is not the shell of root, as PostgreSQL does not run as root.
struct Terminal {
    folder: tempfile::TempDir,
    owner: Owner,
    /// An address of this test, so that the ports are those of the guide.
    ip: Ipv4Addr,
    shell: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Terminal {
    fn open() -> Self {
        let [.., high, low] = std::process::id().to_be_bytes();
        let ip = Ipv4Addr::new(127, 99, high, low.clamp(1, 254));
        let owner = Owner::find().unwrap();
        let folder = tempfile::tempdir().unwrap();
        owner.give(folder.path()).unwrap();
        let program = folder.path().join("triptych");
        fs::copy(env!("CARGO_BIN_EXE_triptych"), program).unwrap();
        fs::create_dir(folder.path().join("ops")).unwrap();
        for file in ["nginx.conf", "prometheus.yml", "alerts.yml"] {
            let text = fs::read_to_string(root().join("ops").join(file)).unwrap();
            // The test does not wait as long as an operator can.
            let text = text.replace("scrape_interval: 15s", "scrape_interval: 1s");
            fs::write(folder.path().join("ops").join(file), here(&text, ip)).unwrap();
        }
        let mut shell = shell(&owner, folder.path());
        // The first process has the default listeners.
        for (service, port) in [("PETSTORE", 8080), ("TRAIN", 8081), ("MUSEUM", 8082), ("ADMIN", 8090)] {
            shell.env(format!("TRIPTYCH_{service}_LISTEN"), format!("{ip}:{port}"));
        }
        let mut shell = shell
            .arg("-e")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.path().join("errors")).unwrap())
            .spawn()
            .unwrap();
        let input = shell.stdin.take().unwrap();
        let output = BufReader::new(shell.stdout.take().unwrap());
        Terminal { folder, owner, ip, shell, input, output }
    }

    /// Runs the commands of a block, and gives what they print.
    fn run(&mut self, block: &Block) -> String {
        writeln!(self.input, "{}\necho 'end of the block'", here(&block.text, self.ip)).unwrap();
        let mut output = String::new();
        while !output.ends_with("end of the block\n") {
            let read = self.output.read_line(&mut output).unwrap();
            assert!(read > 0, "docs/operating.md:{}: {output}{}", block.line, self.errors());
        }
        output.truncate(output.len() - "end of the block\n".len());
        output
    }

    fn errors(&self) -> String {
        let installation = self.folder.path().join("installation");
        let files = ["postgres.log", "first.log", "second.log", "proxy.log", "prometheus.log"];
        let logs = files.map(|file| fs::read_to_string(installation.join(file)).unwrap_or_default());
        fs::read_to_string(self.folder.path().join("errors")).unwrap() + &logs.concat()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("installation").join(name)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = shell(&self.owner, self.folder.path()).args(["-c", END]).output();
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

fn shell(owner: &Owner, folder: &Path) -> Command {
    let mut shell = owner.command(Path::new("/bin/sh"), folder);
    let path = format!("{}:{}", folder.display(), std::env::var_os("PATH").unwrap().display());
    shell.env("PATH", path).env("HOME", folder).env("NO_PROXY", "*");
    shell
}

fn here(text: &str, ip: Ipv4Addr) -> String {
    text.replace("127.0.0.1", &ip.to_string())
}

/// Waits for what other programs do in their own time.
#[track_caller]
fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_true() {
        assert!(Instant::now() < deadline, "not {what}");
        thread::yield_now();
    }
}

/// Whether a process that the guide started still runs.
fn runs(id: &str) -> bool {
    Path::new("/proc").join(id.trim()).exists()
}

#[test]
fn guide_leads_to_a_monitored_installation_of_two_processes_with_a_backup() {
    let guide = fs::read_to_string(root().join("docs/operating.md")).unwrap();
    let guide = blocks(&guide);
    let mut terminal = Terminal::open();
    let mut processes = Vec::new();
    let mut commands = 0;
    for (at, block) in guide.iter().enumerate().filter(|(_, block)| block.language.starts_with(COMMANDS)) {
        commands += 1;
        if block.language == WATCHED {
            // Until Prometheus listens, the command fails.
            let text = format!("{{ {}}} || true", block.text);
            let block = Block { language: block.language.clone(), text, line: block.line };
            until("both processes are scraped", || terminal.run(&block).contains("=> 2 @"));
            continue;
        }
        let output = terminal.run(block);
        let shown = guide.get(at + 1).filter(|next| next.language == "json");
        if let Some(shown) = shown {
            let shown: Value = serde_json::from_str(&shown.text).unwrap();
            let found = serde_json::from_str(&output).unwrap();
            assert!(matches(&shown, &found), "the answer is {found:#}");
        }
        for name in ["first.pid", "second.pid", "prometheus.pid", "proxy.pid", "postgres/postmaster.pid"] {
            let id = fs::read_to_string(terminal.file(name)).unwrap_or_default();
            processes.extend(id.lines().next().map(str::to_owned));
        }
    }
    assert_eq!(commands, 11);

    // The restart gave both processes of Triptych another id, and the end ended all of them.
    processes.sort_unstable();
    processes.dedup();
    assert_eq!(processes.len(), 7, "{processes:?}");
    until("all processes have ended", || !processes.iter().any(|id| runs(id)));
    for log in ["first.log", "second.log"] {
        let log = fs::read_to_string(terminal.file(log)).unwrap();
        assert!(!log.contains("ERROR") && !log.contains("\"level\":\"error\""), "{log}");
    }
}
