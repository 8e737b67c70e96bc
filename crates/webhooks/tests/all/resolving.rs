//! Host names with forbidden addresses, now or at the next connection: the sender does not connect.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::common::{Harness, Running, settings};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use uuid::Uuid;
use webhooks::{Destinations, Resolver, Settings, Webhooks};

const FORBIDDEN: &str = "the host does not lead to a public address";

/// A listener that closes each connection at once, and counts them.
struct Door {
    port: u16,
    knocks: watch::Sender<usize>,
    task: JoinHandle<()>,
}

impl Door {
    async fn open(address: (&str, u16)) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let knocks = watch::Sender::new(0);
        let counted = knocks.clone();
        let task = tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                counted.send_modify(|count| *count += 1);
            }
        });
        Door { port, knocks, task }
    }

    fn knocks(&self) -> usize {
        *self.knocks.borrow()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Resolves each name to these lists of addresses in turn; the last one stays.
fn names<const N: usize>(names: [(&str, &[&[&str]]); N]) -> (Resolver, Arc<AtomicUsize>) {
    let list = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
    let names: HashMap<_, VecDeque<_>> = names
        .iter()
        .map(|(name, answers)| ((*name).to_owned(), answers.iter().map(list).collect()))
        .collect();
    let (names, asked) = (Mutex::new(names), Arc::new(AtomicUsize::new(0)));
    let counted = asked.clone();
    let resolver: Resolver = Arc::new(move |name| {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut names = names.lock().unwrap();
        let answer = names.get_mut(&name).map(|answers| match answers.len() {
            1 => answers[0].clone(),
            _ => answers.pop_front().unwrap(),
        });
        let unknown = || std::io::Error::other("no such name: secret.example.com");
        Box::pin(async move { answer.ok_or_else(unknown) })
    });
    (resolver, asked)
}

async fn subscribe(webhooks: &Webhooks, owner: &str, name: &str, port: u16) -> Uuid {
    let url = format!("https://{name}:{port}/hooks").parse().unwrap();
    webhooks.subscribe(owner, &url).await.unwrap().0.id
}

testkit::on_one_engine! {
    async fn name_with_a_private_address_is_not_connected_to(harness: Harness) {
        let door = Door::open(("127.0.0.1", 0)).await;
        let (resolver, asked) = names([
            ("private.example.com", &[&["127.0.0.1"]]),
            ("mixed.example.com", &[&["8.8.8.8", "127.0.0.1"]]),
            ("mapped.example.com", &[&["::ffff:127.0.0.1"]]),
            ("any.example.com", &[&["0.0.0.0"]]),
            ("nothing.example.com", &[&[]]),
        ]);
        let webhooks = harness.with(Settings { destinations: Destinations::default(), resolver, ..settings() });
        let hosts = ["private", "mixed", "mapped", "any", "nothing", "unknown"];
        let mut ids = Vec::new();
        for host in hosts {
            ids.push(subscribe(&webhooks, "ada", &format!("{host}.example.com"), door.port).await);
        }
        let event = harness.write("ada").await;
        let _running = Running::new(&webhooks);
        for (host, id) in hosts.iter().zip(ids) {
            let attempt = harness.attempts("ada", id, 1).await.remove(0);
            let expected = if *host == "unknown" { "could not connect" } else { FORBIDDEN };
            let found = (attempt.event, attempt.at, attempt.status, attempt.error.as_deref());
            assert_eq!(found, (event, harness.clock.now(), None, Some(expected)), "{host}");
            assert_eq!(harness.delivery(id, event).await.unwrap().0, "waiting", "{host}");
        }
        assert_eq!((door.knocks(), asked.load(Ordering::Relaxed)), (0, 6));
    }

    async fn name_whose_address_changes_is_checked_at_the_next_connection(harness: Harness) {
        let allowed = Door::open(("127.0.0.1", 0)).await;
        let private = Door::open(("127.0.0.2", allowed.port)).await;
        let (resolver, _) = names([("hooks.example.com", &[&["127.0.0.1"], &["127.0.0.2"]])]);
        let networks = vec!["127.0.0.1/32".parse().unwrap()];
        let destinations = Destinations { loopback: false, networks };
        let webhooks = harness.with(Settings { destinations, resolver, ..settings() });
        let id = subscribe(&webhooks, "ada", "hooks.example.com", allowed.port).await;
        harness.write("ada").await;
        let _running = Running::new(&webhooks);
        // The listener closes before TLS; the test counts connections.
        let first = harness.attempts("ada", id, 1).await.remove(0);
        assert_eq!((first.error.as_deref(), allowed.knocks()), (Some("could not connect"), 1));
        harness.seconds(6);
        let second = harness.attempts("ada", id, 2).await.remove(0);
        assert_eq!(second.error.as_deref(), Some(FORBIDDEN));
        assert_eq!((allowed.knocks(), private.knocks()), (1, 0));
    }

    async fn destination_that_settings_no_longer_allow_is_not_connected_to(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.write("ada").await;
        let webhooks = harness.with(Settings { destinations: Destinations::default(), ..settings() });
        let _running = Running::new(&webhooks);
        let attempt = harness.attempts("ada", id, 1).await.remove(0);
        assert_eq!(attempt.error.as_deref(), Some("the address must begin with https://"));
        assert_eq!(harness.receiver.count("a"), 0);
    }

    async fn forbidden_destination_is_not_subscribed(harness: Harness) {
        let webhooks = harness.with(Settings { destinations: Destinations::default(), ..settings() });
        let url = "https://169.254.169.254/latest".parse().unwrap();
        let refused = webhooks.subscribe("ada", &url).await.unwrap_err().to_string();
        let expected = "the address must lead to a public address, not to a private, local or reserved one";
        assert_eq!(refused, expected);
        assert_eq!(webhooks.subscriptions("ada").await.unwrap(), []);
    }
}
