//! A real PgBouncer in transaction mode: each transaction may get another session of the server.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{cluster::Owner, database::Database, process::system_program};

const PROGRAM: &str = "pgbouncer";

/// The first version that can keep prepared statements.
const KEEPS_STATEMENTS: (u32, u32) = (1, 21);

/// The values of `max_prepared_statements` to test with, as far as the installed PgBouncer supports them.
pub fn max_prepared_statements() -> &'static [u32] {
    if version() >= KEEPS_STATEMENTS { &[0, 100] } else { &[0] }
}

/// A pooler in front of one database. It stops when this is dropped.
pub(crate) struct Pooler {
    pub(crate) url: String,
    process: Child,
    _folder: tempfile::TempDir,
}

impl Pooler {
    /// Starts it with few sessions, so that transactions change sessions.
    pub(crate) fn start(database: &Database, max_prepared_statements: u32) -> Self {
        let owner = Owner::find().expect("a user to run PgBouncer as");
        let folder = tempfile::tempdir().expect("a temporary folder");
        owner.give(folder.path()).expect("a folder for PgBouncer");
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let (name, server) = (&database.name, database.port);
        // Older versions reject an unknown setting.
        let kept = if version() >= KEEPS_STATEMENTS {
            format!("max_prepared_statements = {max_prepared_statements}\n")
        } else {
            String::new()
        };
        let settings = format!(
            "[databases]\n{name} = host=127.0.0.1 port={server} dbname={name} user=postgres\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 200\n{kept}"
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, settings).expect("its settings are written");
        let process = owner
            .command(&system_program(PROGRAM), folder.path())
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("PgBouncer starts");
        let pooler =
            Pooler { url: format!("postgres://postgres@127.0.0.1:{port}/{name}"), process, _folder: folder };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "PgBouncer does not answer");
            thread::yield_now();
        }
        pooler
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `(1, 18)` of `PgBouncer 1.18.0`.
fn version() -> (u32, u32) {
    let output =
        Command::new(system_program(PROGRAM)).arg("--version").output().expect("PgBouncer runs").stdout;
    let output = String::from_utf8_lossy(&output).into_owned();
    let mut numbers =
        output.lines().next().and_then(|line| line.strip_prefix("PgBouncer ")).unwrap_or("").split('.');
    let mut number = || numbers.next()?.parse().ok();
    number().zip(number()).unwrap_or_else(|| panic!("PgBouncer has no version: {output}"))
}
