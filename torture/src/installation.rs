//! The program on a database and at addresses of its own, to be started more than once.

use std::{
    ffi::OsString,
    fs,
    io::Write,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rand::{RngExt, rngs::StdRng};
use testkit::{Client, DurablePostgres, Engine, Program};
use tokio::time::{interval, timeout};

use crate::Torture;

/// The services, in the order of their listeners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Petstore,
    Train,
    Museum,
}

impl Service {
    pub(crate) const ALL: [Service; 3] = [Service::Petstore, Service::Train, Service::Museum];

    pub(crate) fn name(self) -> &'static str {
        ["petstore", "train", "museum"][self as usize]
    }
}

/// Limits per caller that the load of a few clients would reach.
const RAISED: [&str; 5] = [
    "PETSTORE_CALLS_PER_HOUR",
    "TRAIN_CALLS_PER_HOUR",
    "TRAIN_UNPAID_HOLDS",
    "TRAIN_DECLINED_PAYMENTS_PER_USER_PER_HOUR",
    "MUSEUM_CALLS_PER_HOUR",
];

pub(crate) struct Installation {
    executable: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) engine: Engine,
    postgres: Option<DurablePostgres>,
    /// The URL of PostgreSQL, if it is on PostgreSQL.
    database: Option<String>,
    /// Further settings.
    environment: Vec<(OsString, OsString)>,
    /// The listeners of the services, and the admin listener.
    addresses: [SocketAddr; 4],
}

impl Installation {
    pub(crate) fn new(torture: &Torture, engine: Engine, name: &str, random: &mut StdRng) -> Self {
        let folder = torture.folder.join(format!("{name}-{engine:?}"));
        fs::create_dir_all(&folder).expect("a folder");
        let postgres = (engine == Engine::Postgres)
            .then(|| DurablePostgres::start(&folder.join("postgres")).expect("PostgreSQL starts"));
        let database = postgres.as_ref().map(DurablePostgres::url);
        let addresses = std::array::from_fn(|_| free_address(random));
        let executable = torture.program.clone();
        Installation { executable, folder, engine, postgres, database, environment: Vec::new(), addresses }
    }

    /// Another process of this installation, at addresses of its own, which reaches PostgreSQL at another URL.
    pub(crate) fn another(&self, database: String, random: &mut StdRng) -> Self {
        Installation {
            executable: self.executable.clone(),
            folder: self.folder.clone(),
            engine: self.engine,
            postgres: None,
            database: Some(database),
            environment: self.environment.clone(),
            addresses: std::array::from_fn(|_| free_address(random)),
        }
    }

    /// Gives all processes the public addresses of this one, so that links and tokens are the same through each of them.
    pub(crate) fn share_addresses(&mut self) {
        for service in Service::ALL {
            let (name, address) = (service.name().to_uppercase(), self.addresses[service as usize]);
            self.set(format!("TRIPTYCH_{name}_ADDRESS"), format!("http://{address}"));
        }
    }

    /// Sets a variable of every command after this.
    pub(crate) fn set(&mut self, variable: impl Into<OsString>, value: impl Into<OsString>) {
        self.environment.push((variable.into(), value.into()));
    }

    /// A command of the program.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = testkit::command(&self.executable, &self.folder);
        command.args(arguments);
        match &self.database {
            Some(database) => command.args(["--database", database]),
            None => command.arg("--data").arg(self.data()),
        };
        let names = Service::ALL.map(Service::name).into_iter().chain(["admin"]);
        for (name, address) in names.zip(self.addresses) {
            command.arg(format!("--{name}-listen={address}"));
        }
        for limit in RAISED {
            command.env(format!("TRIPTYCH_{limit}"), u32::MAX.to_string());
        }
        command.envs(self.environment.iter().map(|(variable, value)| (variable, value)));
        command
    }

    /// The folder of the embedded databases.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts the server. Returns how long it took to be ready as well.
    pub(crate) fn start(&self) -> (Program, Duration) {
        let start = Instant::now();
        let program = Program::start(&mut self.command(&["serve"]));
        (program, start.elapsed())
    }

    pub(crate) fn postgres(&mut self) -> &mut DurablePostgres {
        self.postgres.as_mut().expect("it is on PostgreSQL")
    }

    /// The URL of the database in PostgreSQL.
    pub(crate) fn database(&self) -> &str {
        self.database.as_deref().expect("it is on PostgreSQL")
    }

    pub(crate) fn client(&self, service: Service) -> Client {
        Client::new(self.addresses[service as usize])
    }

    pub(crate) fn clients(&self) -> [Client; 3] {
        Service::ALL.map(|service| self.client(service))
    }

    /// Waits until all services are ready; false if they are not within this time.
    pub(crate) async fn becomes_ready(&self, patience: Duration) -> bool {
        let mut pause = interval(Duration::from_millis(10));
        let wait = async {
            for client in self.clients() {
                while !client.get("/readyz").try_send().await.is_ok_and(|answer| answer.status == 200) {
                    pause.tick().await;
                }
            }
        };
        timeout(patience, wait).await.is_ok()
    }

    /// The Authorization header of the demo user.
    pub(crate) fn authorization(&self, service: Service) -> String {
        format!("Bearer {}", self.printed(&["token", service.name()]).trim_end())
    }

    /// What a command prints; it must succeed.
    pub(crate) fn printed(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("the program runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Adds an account of a service.
    pub(crate) fn add_user(&self, service: Service, name: &str, password: &str) {
        let mut command = self.command(&["user", "add", service.name(), name]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the program runs");
        let mut input = child.stdin.take().expect("its input");
        writeln!(input, "{password}").expect("it reads the password");
        drop(input);
        assert!(child.wait().expect("it ends").success(), "the user {name} is added");
    }

    /// What `triptych check` finds wrong with the data.
    pub(crate) fn check(&self) -> Option<String> {
        let output = self.command(&["check"]).output().expect("the program runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (!output.status.success())
            .then(|| format!("triptych check: {}{}", text(&output.stdout), text(&output.stderr)))
    }
}

/// Stops processes of one installation at once.
pub(crate) fn terminate(programs: Vec<Program>) {
    let stop = |program: Program| thread::spawn(move || program.terminate());
    let stopping: Vec<_> = programs.into_iter().map(stop).collect();
    for program in stopping {
        let status = program.join().expect("it ends");
        assert!(status.success(), "the program stops after SIGTERM");
    }
}

/// The Authorization header for a name and a password.
pub(crate) fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")))
}

/// An address at which the program can be started again and again. Other processes use 127.0.0.1, so that none of them has this one in
/// between.
fn free_address(random: &mut StdRng) -> SocketAddr {
    loop {
        let host =
            Ipv4Addr::new(127, random.random_range(1..255), random.random(), random.random_range(1..255));
        let address = SocketAddr::from((host, random.random_range(10_000..30_000)));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}
