//! Disks that are full or read-only, and files that are damaged or of a newer program.
//!
//! A small file system is mounted in a mount namespace of the program, so that no other process sees it and it ends with the program.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

use rand::{RngExt, rngs::StdRng};
use serde_json::{Value, json};
use testkit::{Client, Engine, Program};
use tokio::{
    runtime::Runtime,
    time::{interval, timeout},
};

use crate::{
    Add, Torture,
    installation::{Installation, Service},
    report::Line,
};

/// Room for new databases, and not much more.
const SMALL: &str = "mount -t tmpfs -o size=32m,mode=0700 tmpfs \"$0\" && exec \"$@\"";
const READ_ONLY: &str = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"";
/// How long the program may take to notice that it can write again.
const SOON: Duration = Duration::from_secs(10);
const PAGE: u64 = 4096;

pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    let runtime = Runtime::new().expect("a runtime");
    let mut random = torture.random("disk");
    let full = Installation::new(torture, Engine::Sqlite, "disk", &mut random);
    add(runtime.block_on(full_disk(&full)));
    let first = Installation::new(torture, Engine::Sqlite, "damage", &mut random);
    let (program, _) = first.start();
    runtime.block_on(async {
        let petstore = first.client(Service::Petstore);
        for _ in 0..200 {
            place_order(&petstore).await.expect("an order");
        }
    });
    assert!(program.terminate().success(), "the program stops after SIGTERM");
    let data = first.data();
    for damage in [Damage::ReadOnly, Damage::CutOff, Damage::Overwritten, Damage::NewerSchema] {
        let files = Files::read(&data);
        add(damaged(&first, damage, &mut random));
        files.write(&data);
    }
}

/// Orders until the disk is full, waits until it is not, and goes on.
async fn full_disk(installation: &Installation) -> Line {
    let data = installation.data();
    fs::create_dir_all(&data).expect("a folder");
    let program = Program::start(&mut inside(SMALL, &data, &installation.command(&["serve"])));
    let petstore = installation.client(Service::Petstore);
    let (mut acknowledged, mut violations) = (Vec::new(), Vec::new());
    // After its start the program makes a template of sandboxes, which needs files that it deletes then: the disk would have room again.
    let created = petstore.post("/sandboxes").json(&json!({})).send().await;
    assert_eq!(created.status, 201, "{}", created.text());
    acknowledged.push(place_order(&petstore).await.expect("an order"));
    let filler = PathBuf::from(format!("/proc/{}/root{}/filler", program.id(), data.display()));
    fill(&filler);
    let mut refused = 0;
    for _ in 0..50 {
        match place_order(&petstore).await {
            Ok(order) => acknowledged.push(order),
            Err(violation) if violation.is_empty() => refused += 1,
            Err(violation) => violations.push(violation),
        }
    }
    if refused == 0 {
        violations.push("no order was refused on a full disk".to_owned());
    }
    let ready = petstore.get("/readyz").send().await;
    if ready.status != 503 {
        violations.push(format!("/readyz on a full disk: {} {}", ready.status, ready.text()));
    }
    if !program.logged().contains("database or disk is full") {
        violations.push("the log does not say that the disk is full".to_owned());
    }
    violations.extend(missing(&petstore, &acknowledged).await);
    fs::remove_file(&filler).expect("the filler");
    let start = Instant::now();
    let mut pause = interval(Duration::from_millis(20));
    let again = async {
        while petstore.get("/readyz").send().await.status != 200 {
            pause.tick().await;
        }
    };
    if timeout(SOON, again).await.is_err() {
        violations.push(format!("/readyz does not recover within {SOON:?}"));
    }
    let took = start.elapsed();
    match place_order(&petstore).await {
        Ok(order) => acknowledged.push(order),
        Err(violation) => violations.push(format!("an order after the disk has room again: 503 {violation}")),
    }
    violations.extend(missing(&petstore, &acknowledged).await);
    let checked = entering(&program, &installation.command(&["check"])).output().expect("nsenter runs");
    if !checked.status.success() {
        violations.push(format!("triptych check: {}", said(&checked)));
    }
    assert!(program.terminate().success(), "the program stops after SIGTERM");
    Line {
        fault: "full disk".to_owned(),
        must: "writes get 503 with Retry-After, reads go on, `/readyz` is red, the log says why; back by itself, nothing lost"
            .to_owned(),
        measured: format!("{refused} of 50 writes refused; ready {took:.0?} after there was room"),
        violations,
    }
}

/// An order that was acknowledged. The error is empty if it was refused as it must be.
async fn place_order(petstore: &Client) -> Result<Value, String> {
    let answer = petstore.post("/v3/store/order").json(&json!({"petId": 1, "quantity": 2})).send().await;
    match answer.status {
        200 => Ok(answer.json()),
        503 if !answer.header("retry-after").is_empty() => Err(String::new()),
        status => Err(format!("POST /v3/store/order: {status} without Retry-After: {}", answer.text())),
    }
}

/// Acknowledged orders that are not there.
async fn missing(petstore: &Client, orders: &[Value]) -> Vec<String> {
    let mut missing = Vec::new();
    for order in orders {
        let answer = petstore.get(&format!("/v3/store/order/{}", order["id"])).send().await;
        if answer.status != 200 || answer.json() != *order {
            missing.push(format!(
                "the order {order} was acknowledged; now: {} {}",
                answer.status,
                answer.text()
            ));
        }
    }
    missing
}

/// Writes a file until there is no room.
fn fill(path: &Path) {
    let mut file = File::create(path).expect("a file on the small disk");
    let zeros = [0; PAGE as usize];
    while file.write_all(&zeros).is_ok() {}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    ReadOnly,
    CutOff,
    Overwritten,
    NewerSchema,
}

/// Starts the program on damaged data. It may only serve if nothing that it needs at the start is damaged; then the check finds it.
fn damaged(installation: &Installation, damage: Damage, random: &mut StdRng) -> Line {
    let data = installation.data();
    let file = data.join("petstore.db");
    let pages = fs::metadata(&file).expect("the pet store's file").len() / PAGE;
    let (fault, words) = match damage {
        Damage::ReadOnly => ("read-only folder".to_owned(), "petstore.db"),
        Damage::CutOff => {
            let kept = random.random_range(1..pages);
            let opened = OpenOptions::new().write(true).open(&file).expect("the pet store's file");
            opened.set_len(kept * PAGE).expect("it can be cut off");
            (format!("file cut off after {kept} of {pages} pages"), "malformed")
        }
        Damage::Overwritten => {
            // Not needed at the start: the program serves, and only the check finds it.
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'store_order'";
            let page: u32 = query(&file, |file| file.query_row(sql, (), |row| row.get(0)));
            let mut opened = OpenOptions::new().write(true).open(&file).expect("the pet store's file");
            opened.seek(SeekFrom::Start(u64::from(page - 1) * PAGE)).expect("a position");
            opened.write_all(&[0xa5; PAGE as usize]).expect("it can be written");
            (format!("page {page} of {pages} overwritten"), "malformed")
        }
        Damage::NewerSchema => {
            let sql = "INSERT INTO triptych_migration (component, version) VALUES ('petstore', 999)";
            query(&file, |file| file.execute(sql, ()));
            ("newer schema".to_owned(), "newer than this program")
        }
    };
    let before = Files::read(&data);
    let script = if damage == Damage::ReadOnly { READ_ONLY } else { "exec \"$@\"" };
    let serving = installation.command(&["serve"]);
    // One that serves is stopped after a time.
    let mut timed = Command::new("timeout");
    carry(timed.arg("5"), &serving);
    let output = inside(script, &data, &timed).output().expect("unshare runs");
    let (code, text) = (output.status.code(), said(&output));
    let mut violations = Vec::new();
    let refuses = code == Some(2) && text.trim_end().lines().count() == 1 && text.contains(words);
    if refuses && Files::read(&data) != before {
        violations.push("the start that was refused changed the files".to_owned());
    }
    let mut measured = "the start is refused with one line".to_owned();
    if !refuses {
        let checked = installation.command(&["check"]).output().expect("the program runs");
        let serves = code == Some(124) && damage == Damage::Overwritten;
        if !serves || checked.status.code() != Some(1) {
            let signal = output.status.signal();
            violations
                .push(format!("exit code {code:?}, signal {signal:?}: {text}; check: {}", said(&checked)));
        }
        measured = "it serves, and `triptych check` finds the damage".to_owned();
    }
    Line {
        fault,
        must: "one line that says why, exit code 2, no file changed; or `triptych check` finds it".to_owned(),
        measured,
        violations,
    }
}

/// Runs a statement on a file that no program uses.
fn query<T>(file: &Path, run: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>) -> T {
    rusqlite::Connection::open(file).and_then(|file| run(&file)).expect("the file can be read")
}

/// What a command wrote.
fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The contents of the files of a folder, without those of sandboxes.
#[derive(PartialEq)]
struct Files(BTreeMap<PathBuf, Vec<u8>>);

impl Files {
    fn read(folder: &Path) -> Self {
        let entries =
            fs::read_dir(folder).expect("the data folder").map(|entry| entry.expect("a file").path());
        let files = entries.filter(|path| path.is_file());
        Files(files.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect())
    }

    /// Makes the folder as it was.
    fn write(&self, folder: &Path) {
        for path in Files::read(folder).0.keys() {
            fs::remove_file(path).expect("a file");
        }
        for (path, content) in &self.0 {
            fs::write(path, content).expect("a file");
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("its permissions");
        }
    }
}

/// Whether this process may mount without a user namespace.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A command in a mount namespace of its own, after a script that gets the folder as `$0`.
fn inside(script: &str, folder: &Path, command: &Command) -> Command {
    let mut wrapped = Command::new("unshare");
    wrapped.args(if is_root() { &["--mount"][..] } else { &["--mount", "--map-root-user"] });
    wrapped.args(["sh", "-c", script]).arg(folder);
    carry(&mut wrapped, command);
    wrapped
}

/// A command in the mount namespace of a program.
fn entering(program: &Program, command: &Command) -> Command {
    let mut wrapped = Command::new("nsenter");
    wrapped.args(if is_root() { &["--mount"][..] } else { &["--user", "--preserve-credentials", "--mount"] });
    wrapped.args(["--target", &program.id().to_string()]);
    carry(&mut wrapped, command);
    wrapped
}

/// The program, the arguments and the environment of another command.
fn carry(wrapped: &mut Command, command: &Command) {
    wrapped.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
}
