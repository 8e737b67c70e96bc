//! Every example of a request in the three documents works when it is sent to a new demo.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::Workspace;
use serde_json::{Value, json};
use testkit::{Answer, Client, Engine, Program, Store};

/// A service of a new demo, and the values for its requests.
struct Sender {
    client: Client,
    document: Value,
    /// The Authorization headers, by security scheme.
    credentials: BTreeMap<&'static str, String>,
    /// Values of path parameters that the document has no example of, since only the answer to another request has them.
    learnt: BTreeMap<&'static str, String>,
    sent: BTreeSet<String>,
}

impl Sender {
    /// Sends an operation's examples, each to be answered by the status that the document has for success. Gives the last answer.
    async fn send(&mut self, id: &str) -> Answer {
        let (path, method, operation) = self.operation(id);
        let success =
            operation["responses"].as_object().unwrap().keys().find(|status| status.starts_with('2'));
        let success: u16 = success.unwrap().parse().unwrap();
        let target = self.target(&path, &operation);
        let bodies = examples_of(id, &operation["requestBody"]);
        let mut last = None;
        for body in &bodies {
            let mut request = self.client.call(method.parse().unwrap(), &target);
            for (name, value) in self.headers(&operation) {
                request = request.header(&name, &value);
            }
            request = match body {
                Some((media_type, text)) => request.body(media_type, text.clone()),
                None => request,
            };
            let answer = request.send().await;
            assert_eq!(answer.status, success, "{id} {target} {body:?}: {}", answer.text());
            last = Some(answer);
        }
        self.sent.insert(id.to_owned());
        last.unwrap()
    }

    fn operation(&self, id: &str) -> (String, String, Value) {
        let paths = self.document["paths"].as_object().unwrap().iter();
        let mut all = paths.flat_map(|(path, item)| {
            item.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
        });
        let found = all.find(|(_, _, operation)| operation["operationId"] == id);
        let (path, method, operation) = found.unwrap_or_else(|| panic!("there is no {id}"));
        (path.clone(), method.to_uppercase(), operation.clone())
    }

    /// The path and the query, with the examples of all parameters.
    fn target(&self, path: &str, operation: &Value) -> String {
        let server = self.document["servers"][0]["url"].as_str().unwrap();
        let mut target = format!("{}{path}", server.trim_end_matches('/'));
        let mut query = Vec::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let (name, example) = (parameter["name"].as_str().unwrap(), &parameter["example"]);
            match parameter["in"].as_str().unwrap() {
                "path" => {
                    let learnt =
                        || self.learnt.get(name).unwrap_or_else(|| panic!("no example of {name}")).clone();
                    let value = if example.is_null() { learnt() } else { plain(example) };
                    target = target.replace(&format!("{{{name}}}"), &value);
                }
                "query" => {
                    let values = example.as_array().cloned().unwrap_or_else(|| vec![example.clone()]);
                    let values = values.iter().filter(|value| !value.is_null());
                    query.extend(values.map(|value| format!("{name}={}", plain(value).replace(' ', "%20"))));
                }
                _ => {}
            }
        }
        if query.is_empty() { target } else { format!("{target}?{}", query.join("&")) }
    }

    /// The credentials that the operation asks for first.
    fn headers(&self, operation: &Value) -> Vec<(String, String)> {
        let security = operation.get("security").unwrap_or(&self.document["security"]);
        let schemes = security[0].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        schemes
            .map(|name| match name {
                "api_key" => ("api_key".to_owned(), self.credentials[name].clone()),
                _ => ("authorization".to_owned(), self.credentials[name].clone()),
            })
            .collect()
    }

    /// Asserts that no operation was left out.
    fn sent_all(&self) {
        let paths = self.document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|item| item.as_object().unwrap().values());
        let ids = operations.map(|operation| operation["operationId"].as_str().unwrap().to_owned());
        assert_eq!(self.sent, ids.collect());
    }
}

/// The bodies to send: every example of every media type, nothing where there is no body.
fn examples_of(id: &str, body: &Value) -> Vec<Option<(String, String)>> {
    let Some(content) = body["content"].as_object() else { return vec![None] };
    let mut bodies = Vec::new();
    for (media_type, content) in content {
        let named =
            content["examples"].as_object().into_iter().flatten().map(|(_, example)| &example["value"]);
        let alone = Some(&content["example"]).filter(|example| !example.is_null());
        let text = |example: &Value| example.as_str().map_or_else(|| example.to_string(), str::to_owned);
        bodies.extend(named.chain(alone).map(|example| Some((media_type.clone(), text(example)))));
    }
    if content.contains_key("application/octet-stream") {
        // Bytes have no example in JSON.
        bodies.push(Some(("application/octet-stream".into(), "bytes".into())));
    }
    assert!(!bodies.is_empty(), "{id} has no example of its body");
    bodies
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

async fn with_fresh_demo(service: &'static str, test: impl AsyncFnOnce(&mut Sender, &Workspace)) {
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    // On every day a ticket for the same day can be bought.
    let program = Program::start(workspace.serving().env("TRIPTYCH_MUSEUM_CLOSED_ON", "[]"));
    let client = Client::new(program.address(service));
    let document = client.get("/openapi.json").send().await.has_status(200).json();
    let mut sender = Sender {
        client,
        document,
        credentials: BTreeMap::new(),
        learnt: BTreeMap::new(),
        sent: BTreeSet::new(),
    };
    test(&mut sender, &workspace).await;
    sender.sent_all();
}

fn member(answer: &Answer, name: &str) -> String {
    answer.json()[name].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn examples_of_the_museum_work() {
    with_fresh_demo("museum", async |museum, _| {
        museum.credentials.insert("MuseumPlaceholderAuth", "Basic ZGVtbzpkZW1v".into());
        for id in [
            "getMuseumHours",
            "getMuseumTime",
            "createSpecialEvent",
            "listSpecialEvents",
            "getSpecialEvent",
            "updateSpecialEvent",
        ] {
            museum.send(id).await;
        }
        let ticket = museum.send("buyMuseumTickets").await;
        museum.learnt.insert("ticketId", member(&ticket, "ticketId"));
        museum.send("getTicketPass").await;
        museum.send("getTicketQrCode").await;
        museum.send("getTicketAdmissions").await;
        let hours = museum.client.get("/v1.1/museum-hours?limit=1").send().await.json();
        let today =
            json!({"ticketType": "general", "ticketDate": hours[0]["date"], "email": "todd@example.com"});
        let call = museum.client.post("/v1.1/tickets").header("authorization", "Basic ZGVtbzpkZW1v");
        let ticket = call.json(&today).send().await;
        museum.learnt.insert("ticketId", member(&ticket, "ticketId"));
        museum.send("admitTicket").await;
        museum.send("deleteSpecialEvent").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn examples_of_train_travel_work() {
    with_fresh_demo("train", async |train, workspace| {
        train.credentials.insert("OAuth2", workspace.token("train"));
        for id in ["get-stations", "get-station", "get-trips", "get-trip"] {
            let answer = train.send(id).await;
            assert_ne!(answer.json()["data"], json!([]), "{id} finds something");
        }
        let body = train.document["paths"]["/bookings/{bookingId}/payment"]["post"]["requestBody"].clone();
        let payments = body["content"]["application/json"]["examples"].as_object().unwrap().clone();
        // Each example pays for another booking.
        for (name, example) in payments {
            let booking = train.send("create-booking").await;
            train.learnt.insert("bookingId", member(&booking, "id"));
            let content = train.document.pointer_mut(
                "/paths/~1bookings~1{bookingId}~1payment/post/requestBody/content/application~1json",
            );
            content.unwrap()["examples"] = json!({ (name.clone()): example });
            let payment = train.send("create-booking-payment").await;
            assert_eq!(member(&payment, "status"), "succeeded", "{name}");
        }
        train.send("get-bookings").await;
        train.send("get-booking").await;
        train.send("get-booking-qr").await;
        train.send("delete-booking").await;
        let inbox = train.send("create-inbox").await;
        train.learnt.insert("inboxId", member(&inbox, "id"));
        for id in ["get-inboxes", "get-inbox", "delete-inbox"] {
            train.send(id).await;
        }
        let webhook = train.send("create-webhook").await;
        train.learnt.insert("webhookId", member(&webhook, "id"));
        for id in [
            "get-webhooks",
            "get-webhook",
            "rotate-webhook-secret",
            "test-webhook",
            "redeliver-webhook",
            "delete-webhook",
        ] {
            train.send(id).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn examples_of_the_pet_store_work() {
    with_fresh_demo("petstore", async |store, workspace| {
        store.credentials.insert("petstore_auth", workspace.token("petstore"));
        store.credentials.insert("api_key", "special-key".into());
        let session = store.send("loginUser").await.json();
        store.credentials.insert("session", format!("Bearer {}", session.as_str().unwrap()));
        for id in
            ["addPet", "updatePet", "findPetsByStatus", "findPetsByTags", "updatePetWithForm", "uploadFile"]
        {
            store.send(id).await;
        }
        let pet = store.send("getPetById").await.json();
        let image = pet["photoUrls"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
        store.learnt.insert("imageId", image.rsplit('/').next().unwrap().to_owned());
        for id in ["getImage", "getInventory", "placeOrder", "getOrderById", "deleteOrder", "deletePet"] {
            store.send(id).await;
        }
        for id in [
            "createUser",
            "createUsersWithListInput",
            "getUserByName",
            "updateUser",
            "deleteUser",
            "logoutUser",
        ] {
            store.send(id).await;
        }
    })
    .await;
}
