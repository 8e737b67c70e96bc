//! The recipe for nginx in `ops`, run by the real nginx, and the restart of two processes behind it.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use crate::{
    common::{Workspace, output_of, soon},
    docs::{blocks, root},
};
use db::{Db, Limits};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use testkit::{Authority, Engine, Nginx, Program, Store, parameter};
use tokio::task::JoinSet;

const NAMES: [&str; 3] = ["pets.example.com", "trains.example.com", "museum.example.com"];

const HTTP: u16 = 8400;
const HTTPS: u16 = 8443;

/// Where the tests' own client is. nginx connects from 127.0.0.1, which is trusted.
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));

/// nginx with the recipe, and the settings that the guide has for it.
struct Site {
    workspace: Workspace,
    /// An address of this test on this machine, so that the ports are those of the recipe.
    ip: Ipv4Addr,
    authority: Authority,
    nginx: Nginx,
}

impl Site {
    fn start(engine: Engine) -> Self {
        static SITES: AtomicUsize = AtomicUsize::new(0);
        let [.., high, low] = std::process::id().to_be_bytes();
        let ip = Ipv4Addr::new(127, 100 + SITES.fetch_add(1, Relaxed) as u8, high, low);
        let workspace = Workspace { store: Store::new(engine), folder: tempfile::tempdir().unwrap() };
        let guide = fs::read_to_string(root().join("docs/operating.md")).unwrap();
        let settings = blocks(&guide)
            .into_iter()
            .find(|block| block.language == "toml" && block.text.contains("drain_seconds"))
            .unwrap();
        let settings = format!("demo = \"on\"\n{}", settings.text);
        fs::write(workspace.folder.path().join("triptych.toml"), settings).unwrap();

        let recipe = fs::read_to_string(root().join("ops/nginx.conf")).unwrap();
        let recipe = recipe
            .replace("127.0.0.1:", &format!("{ip}:"))
            .replace("listen 80;", &format!("listen {ip}:{HTTP};"))
            .replace("listen 443 ", &format!("listen {ip}:{HTTPS} "))
            .replace("/etc/triptych/", "");
        let authority = Authority::new("nginx");
        let certificate = authority.issue(&NAMES);
        let nginx = Nginx::start(&recipe, &certificate, SocketAddr::new(ip.into(), HTTPS));
        Site { workspace, ip, authority, nginx }
    }

    /// A command of the program with the listeners of a process of the recipe.
    fn command(&self, arguments: &[&str], process: u16) -> Command {
        let mut command = self.workspace.command(arguments);
        for (service, port) in [("petstore", 8080), ("train", 8081), ("museum", 8082), ("admin", 8090)] {
            command.arg(format!("--{service}-listen={}:{}", self.ip, port + 100 * process));
        }
        // Many tests share one PostgreSQL, on a machine with other load.
        command.env("TRIPTYCH_LIMITS_DATABASE_CONNECTIONS", "4");
        command.env("TRIPTYCH_LIMITS_DATABASE_SECONDS", "60");
        command
    }

    /// Starts a process of the recipe, and waits until it is ready.
    fn serve(&self, process: u16) -> Program {
        let program = Program::start(&mut self.command(&["serve"], process));
        output_of(&mut self.command(&["ready", "--wait", "60"], process));
        program
    }

    fn client(&self) -> Client {
        let authority = reqwest::Certificate::from_pem(self.authority.pem().as_bytes()).unwrap();
        let nowhere = SocketAddr::new(self.ip.into(), 0);
        let client = NAMES.iter().fold(Client::builder(), |client, name| client.resolve(name, nowhere));
        let redirect = reqwest::redirect::Policy::none();
        client
            .no_proxy()
            .redirect(redirect)
            .local_address(CLIENT)
            .tls_certs_only([authority])
            .build()
            .unwrap()
    }

    /// What curl prints of a request with these arguments, or its exit code.
    fn curl(&self, arguments: &[&str]) -> Result<String, i32> {
        let file = self.workspace.folder.path().join("authority.pem");
        fs::write(&file, self.authority.pem()).unwrap();
        let resolve = format!("pets.example.com:{HTTPS}:{}", self.ip);
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-o", "/dev/null", "--noproxy", "*", "--resolve", &resolve, "--cacert"]).arg(file);
        let output = curl.args(arguments).arg(url("pets", "/healthz")).output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => Err(output.status.code().unwrap()),
        }
    }

    fn token(&self) -> String {
        output_of(&mut self.command(&["token", "petstore"], 0))
    }
}

fn url(name: &str, path: &str) -> String {
    format!("https://{name}.example.com:{HTTPS}{path}")
}

#[track_caller]
fn header<'r>(response: &'r Response, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn recipe_of_nginx_passes_on_what_the_services_need() {
    // The other process never runs: each of its calls goes to this one.
    let site = Site::start(Engine::Sqlite);
    let program = site.serve(0);
    let client = site.client();

    assert_eq!(site.curl(&["-w", "%{http_version}"]), Ok("2".into()));
    assert_eq!(site.curl(&["--http1.1", "-w", "%{http_version}"]), Ok("1.1".into()));
    for version in ["1.2", "1.3"] {
        let tls = [&format!("--tlsv{version}"), "--tls-max", version, "-w", "%{http_code}"];
        assert_eq!(site.curl(&tls), Ok("200".into()), "{version}");
    }
    let old = ["--tlsv1.1", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"];
    assert_eq!(site.curl(&old), Err(35));
    let plain = client.get(format!("http://pets.example.com:{HTTP}/docs?a=b")).send().await.unwrap();
    assert_eq!(
        (plain.status().as_u16(), header(&plain, "location")),
        (308, "https://pets.example.com/docs?a=b")
    );

    // A header with an underscore. The log has the address of the client, not the one that it sends.
    let key = client.get(url("pets", "/v3/store/inventory")).header("api_key", "special-key");
    let key = key.header("x-forwarded-for", "203.0.113.9").header("x-request-id", "behind-nginx").send();
    let key = key.await.unwrap();
    assert_eq!(key.status(), 200);
    assert_eq!(header(&key, "strict-transport-security"), "max-age=31536000");

    // Links are public.
    let ticket = json!({"ticketType": "general", "ticketDate": "9990-05-05", "email": "a@example.com"});
    let ticket = client.post(url("museum", "/v1.1/tickets")).basic_auth("demo", Some("demo")).json(&ticket);
    let ticket = ticket.send().await.unwrap();
    assert_eq!(ticket.status(), 201);
    assert!(
        header(&ticket, "location").starts_with("https://museum.example.com/v1.1/tickets/"),
        "{ticket:?}"
    );

    // The largest image, one that is too large for the program, and one that is too large for nginx.
    let token = site.token();
    for (bytes, status, content_type) in [
        (10 << 20, 200, "application/json"),
        ((10 << 20) + 1, 413, "application/problem+json"),
        (12 << 20, 413, "text/html"),
    ] {
        let mut image = vec![0; bytes];
        image[..8].copy_from_slice(b"\x89PNG\r\n\x1a\n");
        let upload = client.post(url("pets", "/v3/pet/1/uploadImage")).bearer_auth(&token);
        let upload = upload.header("content-type", "image/png").body(image).send().await.unwrap();
        assert_eq!(
            (upload.status().as_u16(), header(&upload, "content-type")),
            (status, content_type),
            "{bytes}"
        );
    }

    // An event arrives while its stream is open.
    let sandbox = client.post(url("pets", "/sandboxes")).json(&json!({"name": "ada"})).send().await.unwrap();
    let sandbox: Value = sandbox.json().await.unwrap();
    let events = client.get(url("pets", "/sandbox/ada/_control/journal/events"));
    let mut events = events.bearer_auth(sandbox["control_token"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(header(&events, "content-type"), "text/event-stream");
    client.get(url("pets", "/sandbox/ada/v3/nothing")).send().await.unwrap();
    let event = soon(events.chunk()).await.unwrap().unwrap();
    assert!(event.starts_with(b"id: 1\n"), "{event:?}");
    drop(events);
    let log = program.whole_log();
    let line = log.lines().find(|line| line.contains("behind-nginx")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(line).unwrap()["client"], CLIENT.to_string());
}

/// Clients that call at the same time.
const CLIENTS: usize = 8;

/// The least number of calls while the processes restart; `make long-test` has ten times as many.
const CALLS: usize = 1000;

/// The restarts, of one process and of the other in turn.
const RESTARTS: u16 = 6;

/// What the clients of a rolling restart share.
struct Load {
    /// How many calls are left to make.
    left: AtomicUsize,
    restarted: AtomicBool,
}

impl Load {
    fn has_more(&self) -> bool {
        let take = |left: usize| left.checked_sub(2);
        self.left.fetch_update(Relaxed, Relaxed, take).is_ok() || !self.restarted.load(Relaxed)
    }
}

/// A client that adds pets and reads them. Gives the number of its pets, and each call that failed.
async fn call(load: Arc<Load>, http: Client, token: String, number: usize) -> (usize, Vec<String>) {
    let (mut pets, mut failed) = (0, Vec::new());
    while load.has_more() {
        let pet = json!({"name": format!("rolling-{number}-{pets}"), "photoUrls": []});
        let added = http.post(url("pets", "/v3/pet")).bearer_auth(&token).json(&pet).send().await;
        pets += 1;
        let added: Value = match added {
            Ok(answer) if answer.status() == 200 => answer.json().await.unwrap(),
            other => {
                failed.push(format!("{other:?}"));
                continue;
            }
        };
        let path = format!("/v3/pet/{}", added["id"]);
        match http.get(url("pets", &path)).bearer_auth(&token).send().await {
            Ok(answer) if answer.status() == 200 => assert_eq!(answer.json::<Value>().await.unwrap(), added),
            other => failed.push(format!("{other:?}")),
        }
    }
    (pets, failed)
}

#[test]
fn rolling_restart_behind_nginx_loses_no_call() {
    testkit::run(Engine::Postgres, async |_: Store| restart_under_load().await);
}

async fn restart_under_load() {
    let site = Arc::new(Site::start(Engine::Postgres));
    let mut programs = vec![site.serve(0), site.serve(1)];
    let left = AtomicUsize::new(parameter("TORTURE_CALLS", CALLS));
    let (load, token) = (Arc::new(Load { left, restarted: AtomicBool::new(false) }), site.token());
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(call(load.clone(), site.client(), token.clone(), number));
    }
    let restarting = {
        let (site, load) = (site.clone(), load.clone());
        tokio::task::spawn_blocking(move || {
            for process in (0..RESTARTS).map(|restart| restart % 2) {
                assert!(programs.remove(0).terminate().success());
                programs.push(site.serve(process));
            }
            load.restarted.store(true, Relaxed);
            programs
        })
    };
    let programs = restarting.await.unwrap();
    let (mut pets, mut failed) = (0, Vec::new());
    while let Some(client) = clients.join_next().await {
        let (added, lost) = client.unwrap();
        pets += added;
        failed.extend(lost);
    }
    assert_eq!(failed, Vec::<String>::new(), "{}", site.nginx.errors());
    for program in programs {
        assert!(program.terminate().success());
    }
    let db = Db::open(site.workspace.store.location(), "checker", &[], Limits::default()).unwrap();
    let count = async |sql: &'static str| {
        db.read(move |tx| tx.row(sql, &[], |row| row.get::<i64>(0))).await.unwrap().unwrap()
    };
    // Each pet is there, and once.
    let all = "SELECT count(*) FROM petstore.pet WHERE name LIKE 'rolling-%'";
    assert_eq!(count(all).await, pets as i64);
    let different = "SELECT count(DISTINCT name) FROM petstore.pet WHERE name LIKE 'rolling-%'";
    assert_eq!(count(different).await, pets as i64);
}
