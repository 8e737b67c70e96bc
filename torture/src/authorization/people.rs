//! The credentials of the callers, and what the owner has.

use serde_json::{Value, json};
use testkit::{Answer, Client};

use super::operation::Scheme;
use crate::{
    installation::{Installation, Service},
    load::{card, text},
};

/// The root services or a sandbox.
pub(crate) struct Place {
    pub(crate) prefix: String,
    /// The Authorization header for the controls.
    control: String,
    clients: [Client; 3],
}

impl Place {
    pub(crate) fn root(installation: &Installation) -> Self {
        let control = format!("Bearer {}", installation.printed(&["sandbox", "token"]).trim_end());
        Place { prefix: String::new(), control, clients: installation.clients() }
    }

    pub(crate) async fn sandbox(installation: &Installation, name: &str) -> Self {
        let clients = installation.clients();
        let created = clients[0].post("/sandboxes").json(&json!({"name": name})).send().await;
        let control = format!("Bearer {}", text(&created.has_status(201).json()["control_token"]));
        Place { prefix: format!("/sandbox/{name}"), control, clients }
    }

    pub(crate) fn client(&self, service: Service) -> &Client {
        &self.clients[service as usize]
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Makes all tokens and sessions expire.
    pub(crate) async fn expire(&self) {
        let call = self.clients[0].post(&self.at("/_control/sign-in/expire"));
        let answer = call.header("authorization", &self.control).send().await;
        assert!(answer.status < 300, "{}", answer.text());
    }

    async fn post(&self, service: Service, path: &str, header: (&str, &str), body: &Value) -> Answer {
        let call = self.client(service).post(&self.at(path));
        call.header(header.0, header.1).json(body).send().await
    }
}

/// The Authorization headers of a user.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub(crate) petstore: String,
    pub(crate) train: String,
    pub(crate) session: String,
    /// None where the user has no account.
    pub(crate) basic: Option<String>,
    pub(crate) api_key: String,
}

impl Credentials {
    /// A new user: OAuth clients that act for themselves, a user of the pet store, and this account of the museum.
    pub(crate) async fn create(place: &Place, name: &str, basic: Option<String>) -> Self {
        let user = json!([{"username": name, "password": "12345"}]);
        let created = place.client(Service::Petstore).post(&place.at("/v3/user/createWithList")).json(&user);
        created.send().await.has_status(200);
        Credentials {
            petstore: token(place, Service::Petstore).await,
            train: token(place, Service::Train).await,
            session: session(place, name).await,
            basic,
            api_key: "special-key".to_owned(),
        }
    }

    /// The header with which it calls a service.
    pub(crate) fn header(&self, service: Service, scheme: Scheme) -> Option<(&'static str, String)> {
        let value = match (scheme, service) {
            (Scheme::ApiKey, _) => return Some(("api_key", self.api_key.clone())),
            (Scheme::OAuth, Service::Petstore) => self.petstore.clone(),
            (Scheme::OAuth, _) => self.train.clone(),
            (Scheme::Session, _) => self.session.clone(),
            (Scheme::Basic, _) => self.basic.clone()?,
        };
        Some(("authorization", value))
    }

    /// The same user at the same services with a token of another service for each.
    pub(crate) fn of_other_services(&self) -> Self {
        Credentials {
            petstore: self.train.clone(),
            train: self.petstore.clone(),
            session: self.petstore.clone(),
            basic: Some(self.train.clone()),
            api_key: self.train.clone(),
        }
    }
}

/// A token of a new client that acts for itself.
async fn token(place: &Place, service: Service) -> String {
    let client =
        json!({"client_name": "Torture", "grant_types": ["client_credentials"], "response_types": []});
    let client = place.client(service).post(&place.at("/oauth/register")).json(&client).send().await;
    let client = client.has_status(201).json();
    let body = format!(
        "grant_type=client_credentials&client_id={}&client_secret={}",
        text(&client["client_id"]),
        text(&client["client_secret"])
    );
    let call = place.client(service).post(&place.at("/oauth/token"));
    let token = call.body("application/x-www-form-urlencoded", body).send().await;
    format!("Bearer {}", text(&token.has_status(200).json()["access_token"]))
}

async fn session(place: &Place, name: &str) -> String {
    let path = place.at(&format!("/v3/user/login?username={name}&password=12345"));
    let answer = place.client(Service::Petstore).get(&path).header("accept", "text/plain").send().await;
    format!("Bearer {}", answer.has_status(200).text())
}

/// What the owner has.
pub(crate) struct Belongings {
    /// The parameter of paths that names it, and its id.
    pub(crate) ids: Vec<(&'static str, String)>,
    /// What no answer to another caller may contain.
    pub(crate) secrets: Vec<String>,
    name: String,
}

impl Belongings {
    pub(crate) async fn create(place: &Place, owner: &Credentials, name: &str) -> Self {
        let train = ("authorization", owner.train.as_str());
        let document = place.client(Service::Train).get(&place.at("/openapi.json")).send().await.json();
        let new = |path: &str| {
            let content = &document["paths"][path]["post"]["requestBody"]["content"];
            content["application/json"]["example"].clone()
        };
        let (mut ids, mut secrets) = (vec![("username", name.to_owned())], Vec::new());
        // The bookings are first, so that no webhook has anything to deliver.
        for _ in 0..2 {
            let booking = place.post(Service::Train, "/bookings", train, &new("/bookings")).await;
            ids.push(("bookingId", text(&booking.has_status(201).json()["id"])));
        }
        let source = card("4242424242424242");
        let pays = format!("/bookings/{}/payment", ids[1].1);
        let payment = place.post(Service::Train, &pays, train, &json!({"source": source})).await;
        secrets.push(text(&payment.has_status(200).json()["id"]));
        let url = json!({"url": "http://127.0.0.1:1/"});
        let webhook = place.post(Service::Train, "/webhooks", train, &url).await.has_status(201).json();
        ids.push(("webhookId", text(&webhook["id"])));
        secrets.push(text(&webhook["secret"]));
        let inbox = place.post(Service::Train, "/inboxes", train, &json!({})).await;
        ids.push(("inboxId", text(&inbox.has_status(201).json()["id"])));
        if let Some(basic) = &owner.basic {
            let ticket =
                json!({"ticketType": "general", "ticketDate": "2099-07-11", "email": "ada@example.com"});
            let basic = ("authorization", basic.as_str());
            let ticket = place.post(Service::Museum, "/v1.1/tickets", basic, &ticket).await;
            let ticket = ticket.has_status(201).json();
            ids.push(("ticketId", text(&ticket["ticketId"])));
            secrets.push(text(&ticket["confirmationCode"]));
        }
        let private = ids.iter().filter(|(parameter, _)| *parameter != "username");
        secrets.extend(private.map(|(_, id)| id.clone()).collect::<Vec<_>>());
        secrets.retain(|secret| !secret.is_empty());
        Belongings { ids, secrets, name: name.to_owned() }
    }

    /// All that the owner sees of it.
    pub(crate) async fn seen_by_owner(&self, place: &Place, owner: &Credentials) -> Vec<String> {
        let mut paths: Vec<_> =
            ["/bookings", "/webhooks", "/inboxes"].map(|path| (Service::Train, path.to_owned())).into();
        for (parameter, id) in &self.ids {
            paths.push(match *parameter {
                "bookingId" => (Service::Train, format!("/bookings/{id}")),
                "webhookId" => (Service::Train, format!("/webhooks/{id}")),
                "inboxId" => (Service::Train, format!("/inboxes/{id}")),
                "ticketId" => (Service::Museum, format!("/v1.1/tickets/{id}/admissions")),
                _ => (Service::Petstore, format!("/v3/user/{id}")),
            });
        }
        let mut seen = Vec::new();
        for (service, path) in paths {
            let scheme = if service == Service::Museum { Scheme::Basic } else { Scheme::OAuth };
            let mut call = place.client(service).get(&place.at(&path));
            if let Some((name, value)) = owner.header(service, scheme) {
                call = call.header(name, &value);
            }
            let answer = call.send().await;
            seen.push(format!("{path}: {} {}", answer.status, answer.text()));
        }
        // The password is still the same.
        session(place, &self.name).await;
        seen
    }
}
