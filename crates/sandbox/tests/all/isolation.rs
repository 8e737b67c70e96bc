//! Sandboxes that are used at the same time see nothing of each other.

use std::collections::HashSet;

use futures_util::{StreamExt, stream};
use sandbox::Limits;
use serde_json::{Value, json};
use testkit::{Answer, Client, Engine, Fixture, Store, on_both_engines, parameter, receiver::Receiver};

use crate::fixture::{OPERATOR, Process};

/// How many sandboxes there are; `make long-test` has 50.
const SANDBOXES: usize = 12;

/// How many are used at the same moment.
const AT_ONCE: usize = 12;

/// The smallest PNG: the image of a pet.
const IMAGE: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89,
];

/// The credentials of the demo user of the museum.
const DEMO: &str = "Basic ZGVtbzpkZW1v";

struct Crowd {
    _store: Store,
    process: Process,
    receiver: Receiver,
}

impl Fixture for Crowd {
    async fn start(engine: Engine) -> Self {
        let limits = Limits { per_address: 100, open: 100, ..Limits::default() };
        let store = Store::new(engine);
        let process = Process::start(&store, true, limits).await;
        Crowd { _store: store, process, receiver: Receiver::start().await }
    }
}

/// A sandbox, with what its visitor has got there.
struct Visited {
    name: String,
    sandbox: Value,
    /// The time of its clock, which stands still.
    time: String,
    pet_token: String,
    train_token: String,
    session: String,
    image: String,
    order: Value,
    booking: String,
    ticket: String,
    event: String,
    webhook: String,
    /// The ids of the keys that sign its tokens.
    keys: Vec<String>,
}

/// A text that only this sandbox knows.
fn marker(name: &str) -> String {
    format!("marker-{name}-end")
}

/// Checks that a text has no marker and no address of another sandbox.
#[track_caller]
fn is_only_of(name: &str, text: &str) {
    for (before, after) in [("marker-", "-end"), ("/sandbox/", "")] {
        for rest in text.split(before).skip(1) {
            let found: String = rest.chars().take_while(|letter| letter.is_ascii_alphanumeric()).collect();
            assert!(
                found == name || !rest[found.len()..].starts_with(after),
                "{before}{found} in {name}: {text}"
            );
        }
    }
}

/// Calls a service of a sandbox, and checks that its answer is of that sandbox only.
struct Visitor<'c> {
    crowd: &'c Crowd,
    name: String,
}

impl Visitor<'_> {
    async fn call(&self, client: &Client, method: &str, path: &str, by: &str, body: Option<Value>) -> Answer {
        let call = client.call(method.parse().unwrap(), &format!("/sandbox/{}{path}", self.name));
        let call = if by.is_empty() { call } else { call.header("authorization", by) };
        let answer = match body {
            Some(body) => call.json(&body).send().await,
            None => call.send().await,
        };
        self.checked(answer)
    }

    fn checked(&self, answer: Answer) -> Answer {
        is_only_of(&self.name, &answer.text());
        is_only_of(&self.name, &format!("{:?}", answer.headers));
        answer
    }

    /// A bearer token of a new OAuth client.
    async fn token(&self, client: &Client) -> String {
        let new = json!({"client_name": marker(&self.name), "grant_types": ["client_credentials"]});
        let registered = self.call(client, "POST", "/oauth/register", "", Some(new)).await;
        let registered = registered.has_status(201).json();
        let text = |member: &str| registered[member].as_str().unwrap().to_owned();
        let (id, secret) = (text("client_id"), text("client_secret"));
        let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
        let path = format!("/sandbox/{}/oauth/token", self.name);
        let token = client.post(&path).body("application/x-www-form-urlencoded", form).send().await;
        let token = self.checked(token).has_status(200).json();
        format!("Bearer {}", token["access_token"].as_str().unwrap())
    }

    async fn keys(&self, client: &Client, visited: &mut Visited) {
        let set = self.call(client, "GET", "/oauth/jwks.json", "", None).await.has_status(200).json();
        let ids = set["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned());
        visited.keys.extend(ids);
    }

    /// Uses every part of the sandbox, the services in an order that depends on the number.
    async fn visit(&self, number: usize, sandbox: Value) -> Visited {
        let process = &self.crowd.process;
        let time = format!("2031-{:02}-{:02}T08:00:00Z", number / 28 + 1, number % 28 + 1);
        let set = json!({"time": time, "frozen": true});
        process.control("PATCH", &sandbox, "/clock", Some(set)).await.has_status(200);
        let mut visited = Visited {
            name: self.name.clone(),
            sandbox,
            time,
            pet_token: String::new(),
            train_token: String::new(),
            session: String::new(),
            image: String::new(),
            order: Value::Null,
            booking: String::new(),
            ticket: String::new(),
            event: String::new(),
            webhook: String::new(),
            keys: Vec::new(),
        };
        for step in 0..3 {
            match (step + number) % 3 {
                0 => self.visit_petstore(&mut visited).await,
                1 => self.visit_train(&mut visited).await,
                _ => self.visit_museum(&mut visited).await,
            }
        }
        visited
    }

    async fn visit_petstore(&self, visited: &mut Visited) {
        let client = &self.crowd.process.petstore;
        visited.pet_token = self.token(client).await;
        self.keys(client, visited).await;
        let by = visited.pet_token.clone();
        let marker = marker(&self.name);
        let pet = json!({"name": marker, "photoUrls": [], "status": "available"});
        let pet = self.call(client, "POST", "/v3/pet", &by, Some(pet)).await.has_status(200).json();
        let upload = format!("/sandbox/{}/v3/pet/{}/uploadImage", self.name, pet["id"]);
        let upload =
            client.post(&upload).header("authorization", &by).body("application/octet-stream", IMAGE).send();
        let uploaded = self.checked(upload.await);
        uploaded.has_status(200);
        let pet = self.call(client, "GET", &format!("/v3/pet/{}", pet["id"]), &by, None).await.json();
        let image = pet["photoUrls"][0].as_str().unwrap();
        visited.image = image[image.find("/v3/").unwrap()..].to_owned();
        let order = json!({"petId": pet["id"], "quantity": 1});
        visited.order =
            self.call(client, "POST", "/v3/store/order", &by, Some(order)).await.has_status(200).json();
        let session = self.call(client, "GET", "/v3/user/login?username=demo&password=demo", "", None).await;
        let cookie = session.has_status(200).header("set-cookie").to_owned();
        assert!(cookie.contains(&format!("Path=/sandbox/{}", self.name)), "{cookie}");
        let (_, session) = cookie.split(';').next().unwrap().split_once('=').unwrap();
        visited.session = format!("Bearer {session}");
        let user = json!({"username": "demo", "firstName": marker});
        self.call(client, "PUT", "/v3/user/demo", &visited.session, Some(user)).await.has_status(200);
        let found = self.call(client, "GET", "/v3/pet/findByStatus?status=available", &by, None).await;
        assert!(found.has_status(200).text().contains(&marker));
        self.call(client, "GET", "/openapi.json", "", None).await.has_status(200);
        self.call(client, "GET", "/docs/", "", None).await.has_status(200);
    }

    async fn visit_train(&self, visited: &mut Visited) {
        let client = &self.crowd.process.train;
        visited.train_token = self.token(client).await;
        self.keys(client, visited).await;
        let by = visited.train_token.clone();
        let hook = json!({"url": self.crowd.receiver.url(&self.name).as_str()});
        let hook = self.call(client, "POST", "/webhooks", &by, Some(hook)).await.has_status(201).json();
        visited.webhook = hook["id"].as_str().unwrap().to_owned();
        let day = &visited.time[..10];
        let trips = format!(
            "/trips?origin=efdbb9d1-02c2-4bc3-afb7-6788d8782b1e&destination=b2e783e1-c824-4d63-b37a-d8d698862f1d&date={day}"
        );
        let trips = self.call(client, "GET", &trips, &by, None).await.has_status(200).json();
        let trip = trips["data"].as_array().unwrap().last().unwrap();
        let booking = json!({"trip_id": trip["id"], "passenger_name": marker(&self.name)});
        let booking = self.call(client, "POST", "/bookings", &by, Some(booking)).await.has_status(201).json();
        assert_eq!(booking["expires_at"], format!("{day}T09:00:00Z"));
        visited.booking = booking["id"].as_str().unwrap().to_owned();
        let bookings = self.call(client, "GET", "/bookings", &by, None).await.has_status(200).json();
        assert_eq!(bookings["data"].as_array().unwrap().len(), 1);
        let unknown = self.call(client, "GET", "/bookings/none", &by, None).await;
        assert!(unknown.has_status(400).text().contains(&format!("/sandbox/{}/problems/", self.name)));
    }

    async fn visit_museum(&self, visited: &mut Visited) {
        let client = &self.crowd.process.museum;
        let hours =
            self.call(client, "GET", "/v1.1/museum-hours?limit=1", "", None).await.has_status(200).json();
        // The first day from the day of the clock on that is not closed.
        let day = hours[0]["date"].as_str().unwrap();
        assert!((&visited.time[..10]..="2031-03-01").contains(&day), "{hours}");
        let marker = marker(&self.name);
        let event = json!({
            "name": marker, "location": "Hall", "eventDescription": marker, "dates": [day], "price": 5,
        });
        let event =
            self.call(client, "POST", "/v1.1/special-events", DEMO, Some(event)).await.has_status(201).json();
        visited.event = event["eventId"].as_str().unwrap().to_owned();
        let email = format!("{marker}@example.com");
        let ticket =
            json!({"ticketType": "event", "eventId": visited.event, "ticketDate": day, "email": email});
        let ticket =
            self.call(client, "POST", "/v1.1/tickets", DEMO, Some(ticket)).await.has_status(201).json();
        visited.ticket = ticket["ticketId"].as_str().unwrap().to_owned();
    }
}

/// Checks that nothing of one sandbox is valid or visible in another.
async fn is_unknown_in(crowd: &Crowd, one: &Visited, other: &Visited) {
    let process = &crowd.process;
    let visitor = Visitor { crowd, name: other.name.clone() };
    let get = async |client: &Client, path: &str, by: &str| {
        visitor.call(client, "GET", path, by, None).await.status
    };
    let (petstore, train, museum) = (&process.petstore, &process.train, &process.museum);
    assert_eq!(get(train, "/bookings", &one.train_token).await, 401);
    let added = json!({"name": "x", "photoUrls": []});
    assert_eq!(visitor.call(petstore, "POST", "/v3/pet", &one.pet_token, Some(added)).await.status, 401);
    let changed = json!({"username": "demo", "firstName": "x"});
    assert_eq!(visitor.call(petstore, "PUT", "/v3/user/demo", &one.session, Some(changed)).await.status, 401);
    let user = visitor.call(petstore, "GET", "/v3/user/demo", &other.session, None).await;
    assert_eq!(user.has_status(200).json()["firstName"], marker(&other.name));
    assert_eq!(get(petstore, &one.image, &other.pet_token).await, 404);
    assert_eq!(get(petstore, &other.image, &other.pet_token).await, 200);
    let found =
        visitor.call(petstore, "GET", "/v3/pet/findByStatus?status=available", &other.pet_token, None).await;
    assert!(found.text().contains(&marker(&other.name)));
    assert_eq!(get(train, &format!("/bookings/{}", one.booking), &other.train_token).await, 404);
    assert_eq!(get(train, &format!("/bookings/{}", other.booking), &other.train_token).await, 200);
    assert_eq!(get(train, &format!("/webhooks/{}", one.webhook), &other.train_token).await, 404);
    assert_eq!(get(museum, &format!("/v1.1/special-events/{}", one.event), DEMO).await, 404);
    assert_eq!(get(museum, &format!("/v1.1/special-events/{}", other.event), DEMO).await, 200);
    let code = format!("/v1.1/tickets/{}/qr", one.ticket);
    assert_eq!(get(museum, &code, DEMO).await, 404);
    let issuer = format!("/.well-known/oauth-authorization-server/sandbox/{}", other.name);
    let metadata = visitor.checked(train.get(&issuer).send().await).has_status(200).json();
    assert!(
        metadata["issuer"].as_str().unwrap().ends_with(&format!("/sandbox/{}", other.name)),
        "{metadata}"
    );
    let stolen = json!({"name": other.name, "control_token": one.sandbox["control_token"]});
    process.control("GET", &stolen, "/clock", None).await.has_status(401);
}

/// Checks the clock, the journal and the events of a sandbox.
async fn has_only_its_own(crowd: &Crowd, visited: &Visited) {
    let process = &crowd.process;
    let clock = process.control("GET", &visited.sandbox, "/clock", None).await;
    clock.is(200, &json!({"time": visited.time, "frozen": true}));
    let har = process.control("GET", &visited.sandbox, "/journal/har?limit=1000", None).await;
    is_only_of(&visited.name, &har.has_status(200).text());
    let har = har.json();
    let entries = har["log"]["entries"].as_array().unwrap();
    assert!(entries.len() > 20, "{}", entries.len());
    for entry in entries {
        assert!(entry["request"]["url"].as_str().unwrap().contains(&format!("/sandbox/{}/", visited.name)));
        assert_eq!(entry["startedDateTime"], visited.time);
    }
    let events = crowd.receiver.wait_for(&visited.name, 1).await;
    assert_eq!(events.len(), 1);
    let body: Value = serde_json::from_slice(&events[0].body).unwrap();
    assert_eq!(body["passenger_name"], marker(&visited.name));
    is_only_of(&visited.name, &body.to_string());
}

on_both_engines! {
    async fn sandboxes_see_nothing_of_each_other(crowd: Crowd) {
        let crowd = &crowd;
        let sandboxes = parameter("TORTURE_SANDBOXES", SANDBOXES);
        let name = |number: usize| format!("student{number:02}");
        let visits = stream::iter(0..sandboxes).map(|number| async move {
            let sandbox = crowd.process.create(&name(number)).await;
            Visitor { crowd, name: name(number) }.visit(number, sandbox).await
        });
        let visited: Vec<_> = visits.buffered(AT_ONCE).collect().await;
        let checks = stream::iter(0..sandboxes).map(|number| {
            let (one, other) = (&visited[number], &visited[(number + 1) % sandboxes]);
            async move {
                is_unknown_in(crowd, one, other).await;
                has_only_its_own(crowd, one).await;
            }
        });
        checks.buffered(AT_ONCE).collect::<Vec<_>>().await;
        let keys: HashSet<_> = visited.iter().flat_map(|visited| &visited.keys).collect();
        assert_eq!(keys.len(), 2 * sandboxes);
        let list = crowd.process.petstore.get("/sandboxes?limit=200").header("authorization", &format!("Bearer {OPERATOR}"));
        assert_eq!(list.send().await.json()["sandboxes"].as_array().unwrap().len(), sandboxes);
    }
}
