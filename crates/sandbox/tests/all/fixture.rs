//! The fixture of a test: the three services with sandboxes in front, each on its own listener.

use std::sync::Arc;

use db::{Databases, Db};
use identity::Hashing;
use sandbox::{Limits, Root, Sandboxes, ServiceSetup, Setup};
use serde_json::{Value, json};
use service::{Instance, Service};
use testkit::{Address, Answer, Client, Engine, Fixture, Server, Store};
use tokio::{sync::watch, task::JoinHandle};
use web::{App, Clock, ClockState, ConnectionLimits, Controls, InstallationSecret, Random, RequestLimits};

pub(crate) const OPERATOR: &str = "operator_test";

/// A process: its listeners, and the connection to the databases.
pub(crate) struct Process {
    pub(crate) petstore: Client,
    pub(crate) train: Client,
    pub(crate) museum: Client,
    pub(crate) databases: Databases,
    pub(crate) sandboxes: Sandboxes,
    servers: Vec<Server>,
    tasks: Vec<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

/// The databases of a test, and one process on them.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) process: Process,
}

impl Fixture for World {
    async fn start(engine: Engine) -> Self {
        let store = Store::new(engine);
        let process = Process::start(&store, true, Limits::default()).await;
        World { store, process }
    }
}

impl Process {
    pub(crate) async fn start(store: &Store, demo: bool, limits: Limits) -> Self {
        Process::start_with(store, demo, limits, None).await
    }

    /// The same with root services, whose clock and controls can be changed in a demo.
    pub(crate) async fn start_with_root(store: &Store, demo: bool) -> Self {
        let clock = Clock::adjustable(ClockState::default());
        let root = Root { clock, controls: Controls::default() };
        Process::start_with(store, demo, Limits::default(), Some(root)).await
    }

    async fn start_with(store: &Store, demo: bool, limits: Limits, root: Option<Root>) -> Self {
        let databases = store.connect();
        let listeners = [Address::free().await, Address::free().await, Address::free().await];
        let services: [Arc<dyn Service>; 3] = [
            Arc::new(petstore::Settings::default()),
            Arc::new(train::Settings::default()),
            Arc::new(museum::Settings::default()),
        ];
        let setups = services.iter().zip(&listeners).map(|(service, listener)| ServiceSetup {
            service: service.clone(),
            address: listener.url(),
            limits: RequestLimits::default(),
            is_local: true,
            secret: InstallationSecret::new(&[7; 32]),
            hashing: Hashing::LEAST_WORK,
            traces: None,
        });
        let setup = Setup {
            databases: databases.clone(),
            random: Random::system(),
            demo,
            limits,
            operator_token: OPERATOR.into(),
            services: setups.collect(),
            root: root.clone(),
        };
        let sandboxes = Sandboxes::open(setup).await.unwrap();
        let (stop, mut stopped) = watch::channel(false);
        let until = async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        };
        let mut tasks = vec![tokio::spawn(sandboxes.clone().run(Box::pin(until)))];
        let mut servers = Vec::new();
        for (listener, service) in listeners.into_iter().zip(&services) {
            let name = service.description().name;
            let root = match &root {
                None => App::from(axum::Router::new()),
                Some(root) => {
                    let instance = Instance {
                        demo,
                        is_local: true,
                        hashing: Hashing::LEAST_WORK,
                        secret: InstallationSecret::new(&[7; 32]),
                        controls: root.controls.clone(),
                        delivery_gate: sandboxes.root_delivery_gate(name),
                        ..Instance::new(
                            open(&databases, &**service).await,
                            root.clock.clone(),
                            Random::system(),
                        )
                    };
                    let running = service.open(instance.clone().at(listener.url())).await.unwrap();
                    let app = running.app();
                    sandboxes.add_root(name, app.clone(), instance).await.unwrap();
                    let mut stopped = stop.subscribe();
                    let until = async move {
                        let _ = stopped.wait_for(|stop| *stop).await;
                    };
                    tasks.push(tokio::spawn(running.run(Box::pin(until))));
                    app
                }
            };
            let app = sandboxes.app(name, root);
            servers.push(listener.serve(ConnectionLimits::default(), app));
        }
        let [petstore, train, museum] = [0, 1, 2].map(|at: usize| Client::new(servers[at].address()));
        Process { petstore, train, museum, databases, sandboxes, servers, tasks, stop }
    }

    /// Stops the process, so that another one can have its databases.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        for server in self.servers {
            server.stop().await;
        }
        for task in self.tasks {
            task.await.unwrap();
        }
    }

    /// Creates a sandbox and returns the answer.
    pub(crate) async fn create(&self, name: &str) -> Value {
        let answer = self.petstore.post("/sandboxes").json(&json!({"name": name})).send().await;
        answer.has_status(201);
        answer.json()
    }

    /// Calls a control of the root with the operator's token.
    pub(crate) async fn root_control(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let call = self.petstore.call(method.parse().unwrap(), &format!("/_control{path}"));
        let call = call.header("authorization", &format!("Bearer {OPERATOR}"));
        match body {
            Some(body) => call.json(&body).send().await,
            None => call.send().await,
        }
    }

    /// Calls a control of a sandbox with its token.
    pub(crate) async fn control(
        &self,
        method: &str,
        sandbox: &Value,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let name = sandbox["name"].as_str().unwrap();
        let token = format!("Bearer {}", sandbox["control_token"].as_str().unwrap());
        let path = format!("/sandbox/{name}/_control{path}");
        let call = self.petstore.call(method.parse().unwrap(), &path).header("authorization", &token);
        match body {
            Some(body) => call.json(&body).send().await,
            None => call.send().await,
        }
    }
}

async fn open(databases: &Databases, service: &dyn Service) -> Db {
    let (databases, description) = (databases.clone(), service.description());
    let open = move || databases.open(description.name, description.migrations);
    tokio::task::spawn_blocking(open).await.unwrap().unwrap()
}

/// Checks that an answer is a problem of this kind, below a path prefix. Returns the detail.
#[track_caller]
pub(crate) fn is_problem(answer: &Answer, status: u16, prefix: &str, kind: &str) -> String {
    let problem = answer.has_status(status).json();
    assert_eq!(problem["type"], format!("{prefix}/problems/{kind}"), "{problem}");
    problem["detail"].as_str().unwrap().to_owned()
}
