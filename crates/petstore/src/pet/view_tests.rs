//! The check of a resource with an assigned member runs for each view: creation, replacement and change.

use axum::{
    Router,
    routing::{patch, post, put},
};
use model::Resource;
use serde_json::{Value, json};
use testkit::{Client, Server};
use web::{Body, ConnectionLimits, Reply, input::Fields};

#[derive(Clone, Resource)]
#[resource(new = NewLitter, replace = LitterUpdate, changes = LitterChanges, check = has_sold_at_most_its_size)]
struct Litter {
    #[field(assigned)]
    id: i64,
    #[field(rule = integer(1..=20))]
    size: i64,
    #[field(rule = integer(0..=20), default = 0)]
    sold: i64,
    #[field(rule = text(1..=5))]
    name: Option<String>,
}

fn has_sold_at_most_its_size(litter: &PartialLitter<'_>, fields: &mut Fields<'_>) {
    if let (Some(Some(size)), Some(Some(sold))) = (litter.size, litter.sold)
        && sold > size
    {
        fields.fail::<()>("sold", "must be at most size");
    }
    if let (Some(Some(0)), Some(None)) = (litter.id, litter.name) {
        fields.fail::<()>("name", "is required for id 0");
    }
}

async fn serve() -> (Server, Client) {
    let stored = Litter { id: 7, size: 4, sold: 1, name: None };
    let router = Router::new()
        .route("/", post(async |Body(new): Body<NewLitter>| Reply(new.with_id(1))))
        .route("/", put(async |Body(LitterUpdate(litter)): Body<LitterUpdate>| Reply(litter)))
        .route(
            "/",
            patch(async move |Body(changes): Body<LitterChanges>| {
                let mut litter = stored.clone();
                changes.apply_to(&mut litter);
                Reply(litter)
            }),
        );
    let server = Server::start(ConnectionLimits::default(), |_| router).await;
    let client = Client::new(server.address());
    (server, client)
}

const TOO_MANY: (&str, &str) = ("#/sold", "must be at most size");
const NO_NAME: (&str, &str) = ("#/name", "is required for id 0");

async fn is_invalid(call: testkit::Call, body: Value, errors: &[(&str, &str)]) {
    call.json(&body).send().await.is_invalid(errors);
}

#[tokio::test]
async fn check_of_a_new_resource_gets_an_absent_assigned_member() {
    let (_server, client) = serve().await;
    let made = json!({"id": 1, "size": 2, "sold": 0});
    client.post("/").json(&json!({"size": 2})).send().await.is(200, &made);
    is_invalid(client.post("/"), json!({"size": 2, "sold": 3}), &[TOO_MANY]).await;
    is_invalid(client.post("/"), json!({"id": 0, "size": 2, "sold": 3}), &[TOO_MANY, NO_NAME]).await;
    // An invalid member is reported only by its own rule.
    let errors = [("#/size", "must be a whole number from 1 to 20")];
    is_invalid(client.post("/"), json!({"size": 21, "sold": 3}), &errors).await;
}

#[tokio::test]
async fn check_of_a_replacement_gets_the_assigned_member() {
    let (_server, client) = serve().await;
    let litter = json!({"id": 0, "size": 2, "sold": 2, "name": "A"});
    client.put("/").json(&litter).send().await.is(200, &litter);
    is_invalid(client.put("/"), json!({"id": 0, "size": 2, "sold": 3}), &[TOO_MANY, NO_NAME]).await;
    is_invalid(client.put("/"), json!({"id": 3, "size": 2, "sold": 3}), &[TOO_MANY]).await;
}

#[tokio::test]
async fn check_of_changes_gets_the_sent_members() {
    let (_server, client) = serve().await;
    let changed = json!({"id": 7, "size": 4, "sold": 3});
    client.patch("/").json(&json!({"sold": 3})).send().await.is(200, &changed);
    is_invalid(client.patch("/"), json!({"size": 2, "sold": 3}), &[TOO_MANY]).await;
}
