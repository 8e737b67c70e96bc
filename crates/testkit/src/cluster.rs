//! A real PostgreSQL for the tests: one cluster per test run, started from the installed server binaries in a
//! temporary folder, a database per test.
//!
//! A test run is the parent of this process (`cargo test`, which starts one process per test binary). The first process that
//! needs the cluster starts it under a lock, and the others use it. A small watcher process stops it when the run has ended.

use std::{
    fs::{self, File},
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::unix::{
        fs::chown,
        process::{CommandExt, parent_id},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use postgres::{Client, NoTls};

use crate::postmaster::wait_until_ready;

const MISSING: &str = "the tests need PostgreSQL's server: install it (Debian: apt-get install postgresql), or put \
                       initdb and postgres on the PATH";

const STARTS_WITHIN: Duration = Duration::from_secs(60);

pub(crate) struct Cluster {
    pub(crate) port: u16,
    /// The folder of its socket.
    folder: PathBuf,
}

impl Cluster {
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn run(&self, database: &str, sql: &str) {
        let done = self.connected(database, |mut client| client.batch_execute(sql));
        done.expect("the test cluster runs the statement");
    }

    fn answers(&self) -> bool {
        self.connected("postgres", |_| Ok(())).is_ok()
    }

    pub(crate) fn connect(&self, database: &str) -> Result<Client, postgres::Error> {
        let mut config = postgres::Config::new();
        config.host_path(&self.folder).port(self.port).user("postgres").dbname(database).connect(NoTls)
    }

    pub(crate) fn connected(
        &self,
        database: &str,
        run: impl FnOnce(Client) -> Result<(), postgres::Error> + Send,
    ) -> Result<(), postgres::Error> {
        on_a_thread(|| self.connect(database).and_then(run))
    }
}

/// The client blocks, which must not happen in the runtime of a test.
pub(crate) fn on_a_thread<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(run).join()).expect("the client does not panic")
}

/// The cluster of this test run.
pub(crate) fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        start().unwrap_or_else(|error| panic!("cannot start PostgreSQL for the tests: {error}"))
    })
}

fn start() -> io::Result<Cluster> {
    let run = parent_id();
    let folder = std::env::temp_dir().join(format!("triptych-test-postgres-{run}"));
    let lock = File::create(folder.with_extension("lock"))?;
    lock.lock()?;
    if let Ok(port) = fs::read_to_string(folder.join("port")) {
        let port = port.trim().parse().map_err(io::Error::other)?;
        let cluster = Cluster { port, folder: folder.clone() };
        if cluster.answers() {
            return Ok(cluster);
        }
    }
    if folder.exists() {
        // From an earlier run with the same process number.
        fs::remove_dir_all(&folder)?;
    }
    // Each test has a database of its own: autovacuum would start a process for one after the other, all the time. The database
    // of a test is small and not copied to a replica.
    let settings = ["listen_addresses=127.0.0.1", "autovacuum=off", "wal_level=minimal", "max_wal_senders=0"];
    let cluster = boot(&folder, run, &["--auth=trust"], &settings)?;
    fs::write(folder.join("port"), cluster.port.to_string())?;
    Ok(cluster)
}

/// A PostgreSQL of its own that waits for its disk, as in production. It runs until this process ends, or until it is killed.
pub struct DurablePostgres {
    cluster: Cluster,
    server: Child,
}

impl DurablePostgres {
    const SETTINGS: [&str; 3] = ["fsync=on", "full_page_writes=on", "listen_addresses=127.0.0.1"];

    /// Starts it in this folder.
    pub fn start(folder: &Path) -> io::Result<Self> {
        create(folder, &["--auth=trust"])?;
        let (cluster, server) = serve(folder, std::process::id(), &Self::SETTINGS)?;
        Ok(DurablePostgres { cluster, server })
    }

    /// The URL of its database.
    pub fn url(&self) -> String {
        self.cluster.url("postgres")
    }

    /// Ends all its processes with SIGKILL.
    pub fn kill(&mut self) {
        kill_all(&self.server);
        self.server.wait().expect("it ends");
    }

    /// Stops it as an operator does: it ends all sessions, and keeps what was committed.
    pub fn stop(&mut self) {
        let asked = Command::new("kill").args(["-INT", &self.server.id().to_string()]).status();
        assert!(asked.expect("kill runs").success());
        self.server.wait().expect("it ends");
    }

    /// The address of the server.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.cluster.port))
    }

    /// The URL of its database at another address, such as that of a proxy.
    pub fn url_at(&self, address: SocketAddr) -> String {
        format!("postgres://postgres@{address}/postgres")
    }

    /// Starts it again at the same address after it was stopped or killed, and waits until it has recovered.
    pub fn restart(&mut self) -> io::Result<()> {
        let (folder, port) = (self.cluster.folder.clone(), self.cluster.port);
        let deadline = Instant::now() + STARTS_WITHIN;
        loop {
            match serve_at(port, &folder, std::process::id(), &Self::SETTINGS) {
                Ok((_, server)) => {
                    self.server = server;
                    return Ok(());
                }
                // A process of the one before has not ended yet.
                Err(error) if error.to_string().contains("still in use") && Instant::now() < deadline => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Ends all processes of a server with SIGKILL.
pub(crate) fn kill_all(server: &Child) {
    let killed = Command::new("kill").args(["-KILL", "--", &format!("-{}", server.id())]).status();
    assert!(killed.expect("kill runs").success());
}

/// A cluster that a replica can follow, and its process.
pub(crate) fn boot_replicated(folder: &Path, run: u32) -> io::Result<(Cluster, Child)> {
    create(folder, &["--auth=trust"])?;
    serve(folder, run, &["listen_addresses=127.0.0.1", "wal_level=replica", "max_wal_senders=4"])
}

/// Creates a cluster in this folder and starts it, until the test run ends.
pub(crate) fn boot(folder: &Path, run: u32, initdb: &[&str], settings: &[&str]) -> io::Result<Cluster> {
    create(folder, initdb)?;
    serve(folder, run, settings).map(|(cluster, _)| cluster)
}

fn create(folder: &Path, initdb: &[&str]) -> io::Result<()> {
    let owner = Owner::find()?;
    fs::create_dir_all(folder)?;
    owner.give(folder)?;
    let data = folder.join("data");
    let made = owner
        .command(&binary("initdb"), folder)
        // The order of a language, not of bytes, so that a query that silently relies on byte order fails.
        .args(["--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US"])
        .args(["--username=postgres", "--no-sync"])
        .args(initdb)
        .arg("--pgdata")
        .arg(&data)
        .output()?;
    if !made.status.success() {
        return Err(io::Error::other(format!("initdb: {}", String::from_utf8_lossy(&made.stderr))));
    }
    Ok(())
}

/// Starts the cluster whose data is in this folder, until the test run ends. Returns its process as well.
pub(crate) fn serve(folder: &Path, run: u32, settings: &[&str]) -> io::Result<(Cluster, Child)> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    serve_at(port, folder, run, settings)
}

fn serve_at(port: u16, folder: &Path, run: u32, settings: &[&str]) -> io::Result<(Cluster, Child)> {
    let owner = Owner::find()?;
    let data = folder.join("data");
    let log = File::create(folder.join("log"))?;
    let mut server = owner
        .command(&binary("postgres"), folder)
        .arg("-D")
        .arg(&data)
        .arg("-k")
        .arg(folder)
        // The tests kill processes, not the machine, so the files of PostgreSQL need no fsync.
        .args(["-c", "max_connections=500", "-c", "fsync=off", "-c", "full_page_writes=off"])
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .args(["-p", &port.to_string()])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0)
        .spawn()?;
    watch(run, server.id(), folder)?;
    let cluster = Cluster { port, folder: folder.to_owned() };
    let ready = wait_until_ready(&data, &mut server, Instant::now() + STARTS_WITHIN)
        .and_then(|()| cluster.connected("postgres", |_| Ok(())).map_err(io::Error::other));
    ready.map_err(|error| {
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        io::Error::other(format!("it does not answer: {error}; its log:\n{log}"))
    })?;
    Ok((cluster, server))
}

/// A program of PostgreSQL. Where the PATH has links to some of the programs, the others are where the links point to.
pub(crate) fn binary(name: &str) -> PathBuf {
    let folder = binaries().unwrap_or_else(|| panic!("{MISSING}"));
    let linked = fs::canonicalize(folder.join("initdb")).map(|initdb| initdb.with_file_name(name));
    [Ok(folder.join(name)), linked].into_iter().flatten().find(|path| path.is_file()).unwrap_or_else(|| {
        panic!("PostgreSQL has no {name}: {MISSING}");
    })
}

/// Stops the server and deletes its folder when the test run ends. A server that a test has killed is not watched any more.
fn watch(run: u32, server: u32, folder: &Path) -> io::Result<()> {
    let script = r#"
        while kill -0 "$1" 2>/dev/null; do
            kill -0 "$2" 2>/dev/null || exit 0
            sleep 1
        done
        kill -INT "$2" 2>/dev/null
        while kill -0 "$2" 2>/dev/null; do sleep 0.1; done
        rm -rf "$3" "$3.lock"
    "#;
    Command::new("sh")
        .args(["-c", script, "watch", &run.to_string(), &server.to_string()])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map(drop)
}

/// The folder of `initdb` and `postgres`: on the PATH, or of Debian, the newest version first.
fn binaries() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test tool, not a setting of the program")]
    let path = std::env::var("PATH").unwrap_or_default();
    let mut debian: Vec<_> = fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    debian.sort_by_key(|bin| {
        let version = bin.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        std::cmp::Reverse(version.and_then(|version| version.parse::<u32>().ok()))
    });
    let mut folders = std::env::split_paths(&path).chain(debian);
    folders.find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

/// The user who runs a server such as PostgreSQL: another user if the tests run as root, which PostgreSQL rejects.
pub struct Owner(Option<(u32, u32)>);

impl Owner {
    pub fn find() -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let ours = fs::metadata("/proc/self")?.uid();
        if ours != 0 {
            return Ok(Owner(None));
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let of = |name: &str| {
            let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
            let mut fields = line.split(':').skip(2);
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        };
        let user = of("postgres").or_else(|| of("nobody"));
        user.map(|user| Owner(Some(user))).ok_or_else(|| io::Error::other("no user to run PostgreSQL as"))
    }

    pub fn give(&self, path: &Path) -> io::Result<()> {
        match self.0 {
            Some((user, group)) => chown(path, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    pub fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder);
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
        command
    }
}
