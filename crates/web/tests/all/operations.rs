//! Checks before every operation by the document: unknown query parameters, and the Accept header.

use crate::support::{sample, serve};
use http::{Method, StatusCode};
use serde_json::json;
use testkit::{Client, Engine, Server, Store};
use web::{
    Body, Query, Reply, Service,
    input::{Fields, Input, rules},
    openapi::ApiRoutes,
    problem::{Kind, UNPROCESSABLE},
    routes,
};

struct Page(i64);

impl Input for Page {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let page = fields.optional("page", rules::integer(1..=9));
        let limit = fields.optional("limit", rules::integer(1..=9));
        Some(Page(page?.unwrap_or(1) * limit?.unwrap_or(1)))
    }
}

struct Name;

impl Input for Name {
    const BROKEN: &'static Kind = &UNPROCESSABLE;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.required("name", rules::text(1..=5)).map(|_| Name)
    }
}

#[utoipa::path(get, path = "/list", params(("page" = i64, Query), ("limit" = i64, Query)), responses((status = 200, body = i64)))]
async fn list(Query(Page(size)): Query<Page>) -> Reply<i64> {
    Reply(size)
}

#[utoipa::path(get, path = "/things/{id}", params(("id" = i64, Path)), responses((status = 200, body = String, content_type = "application/json")))]
async fn get_thing(_: web::Path<i64>) -> Reply<&'static str> {
    Reply("thing")
}

#[utoipa::path(put, path = "/things/{id}", params(("id" = i64, Path)), request_body = String, responses((status = 200, body = String, content_type = "application/json")))]
async fn put_thing(_: Body<Name>) -> Reply<&'static str> {
    Reply("changed")
}

#[utoipa::path(delete, path = "/things/{id}", params(("id" = i64, Path)), responses((status = 204)))]
async fn delete_thing(_: web::Path<i64>) -> StatusCode {
    StatusCode::NO_CONTENT
}

#[utoipa::path(get, path = "/count", responses((status = 200, body = i64)))]
async fn count() -> Reply<i64> {
    Reply(1)
}

async fn start() -> (Store, Server, Client) {
    let store = Store::new(Engine::Sqlite);
    let (api, openapi) = ApiRoutes::new("/v1", utoipa::openapi::OpenApi::default())
        .routes(routes!(list))
        .routes(routes!(count))
        .routes(routes!(get_thing, put_thing, delete_thing))
        .finish();
    let service = Service { api, openapi, ..sample(&store) };
    let (server, client) = serve(service.into_app()).await;
    (store, server, client)
}

const NONE: &str = "is not a parameter of this operation, which takes none";

#[tokio::test]
async fn unknown_parameter_is_rejected_with_the_nearest_name() {
    let (_store, _server, client) = start().await;
    client.get("/v1/list?page=2&limit=3").send().await.is(200, &json!(6));
    let near = "is not a parameter of this operation; did you mean `limit`?";
    let answer = client.get("/v1/list?Limit=3").send().await;
    answer.is_invalid(&[("?Limit", near)]);
    assert_eq!(answer.json()["detail"], format!("?Limit {near}"));
    let others = "is not a parameter of this operation, which takes page or limit";
    client.get("/v1/list?colour=red").send().await.is_invalid(&[("?colour", others)]);
    // Among all else that is wrong.
    let answer = client.get("/v1/list?page=0&colour=red&limt=99").send().await;
    answer.is_invalid(&[
        ("?page", "must be a whole number from 1 to 9"),
        ("?colour", others),
        ("?limt", near),
    ]);
}

#[tokio::test]
async fn access_token_in_the_query_is_rejected_by_an_open_operation() {
    let (_store, _server, client) = start().await;
    let said = "is not a parameter of this operation: an access token belongs in the Authorization header";
    for path in ["/v1/list", "/v1/count", "/v1/things/7"] {
        let answer = client.get(&format!("{path}?access_token=secret-in-the-address")).send().await;
        answer.is_invalid(&[("?access_token", said)]);
    }
    let call = client.call(Method::PUT, "/v1/things/7?access_token=x").json(&json!({"name": "Rex"}));
    call.send().await.is_invalid(&[("?access_token", said)]);
    client.delete("/v1/things/7?access_token=x").send().await.is_invalid(&[("?access_token", said)]);
}

#[tokio::test]
async fn operation_without_parameters_rejects_parameters() {
    let (_store, _server, client) = start().await;
    for method in [Method::GET, Method::DELETE] {
        let call = client.call(method, "/v1/things/7?force=true&force=false").send();
        call.await.is_invalid(&[("?force", NONE)]);
    }
    client.get("/v1/count?force=true").send().await.is_invalid(&[("?force", NONE)]);
    client.get("/v1/count").send().await.is(200, &json!(1));
    let id = "must be a whole number from -9223372036854775808 to 9223372036854775807";
    client.get("/v1/things/x?force=true").send().await.is_invalid(&[("{id}", id), ("?force", NONE)]);
    client.call(Method::HEAD, "/v1/things/7?force=true").send().await.has_status(400);
    client
        .get("/v1/things/7?%zz")
        .send()
        .await
        .is_invalid(&[("?", "has a % that is not followed by two hexadecimal digits")]);
    client.get("/v1/things/7?").send().await.is(200, &json!("thing"));
    client.post("/v1/things/7?force=true").send().await.is_problem(405, "method-not-allowed");
    // Pages are no operations.
    for page in ["/healthz?now=1", "/openapi.json?x=1", "/problems?x=1", "/docs/?x=1", "/?utm_source=mail"] {
        client.get(page).send().await.has_status(200);
    }
}

#[tokio::test]
async fn unknown_parameter_is_listed_with_the_validation_errors_of_the_body() {
    let (_store, _server, client) = start().await;
    let put = |body: &'static str| client.put("/v1/things/7?force=1").body("application/json", body).send();
    put(r#"{"name": "Rex"}"#).await.is_invalid(&[("?force", NONE)]);
    put(r#"{"name": ""}"#).await.is_invalid(&[("#/name", "must not be empty"), ("?force", NONE)]);
    put("").await.is_invalid(&[("#", "is empty; a JSON object is required"), ("?force", NONE)]);
    let fine = client.put("/v1/things/7").json(&json!({"name": "Rex"})).send().await;
    fine.is(200, &json!("changed"));
}

#[tokio::test]
async fn answer_without_a_body_is_acceptable_to_every_client() {
    let (_store, _server, client) = start().await;
    for accept in
        ["application/problem+json", "application/problem+xml", "text/plain", "application/json;q=0"]
    {
        let deleted = client.delete("/v1/things/7").header("accept", accept).send().await;
        assert_eq!(deleted.has_status(204).text(), "", "{accept}");
        // If the client does not accept the body, the operation does not run.
        let refused = client.get("/v1/things/7").header("accept", accept).send().await;
        assert_eq!(
            refused.is_problem(406, "not-acceptable"),
            "This operation answers as application/json only.",
            "{accept}"
        );
        client.post("/v1/things/7").header("accept", accept).send().await.has_status(405);
    }
}

#[tokio::test]
async fn unknown_path_gets_404_with_the_start_of_the_api() {
    let (_store, _server, client) = start().await;
    for path in ["/nowhere", "/v1/nowhere", "/pets"] {
        assert_eq!(
            client.get(path).send().await.is_problem(404, "not-found"),
            "There is nothing at this address. The API begins at /v1; its operations are listed at /docs."
        );
    }
}
