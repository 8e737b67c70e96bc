//! Applications that decide for each request.

use std::{
    collections::BTreeMap,
    sync::{Arc, RwLock},
};

use crate::support::{sample, serve};
use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use http::Method;
use testkit::{Engine, Store};
use web::{
    Answer, App, Problem, Reply, Service, openapi::Handlers, prefixed_part, problem::NOT_FOUND, strip_prefix,
};

/// Instances under `/x/{name}` that come and go while the listener runs.
#[derive(Default)]
struct Instances(RwLock<BTreeMap<String, App>>);

impl Answer for Instances {
    fn answer(&self, mut request: Request) -> BoxFuture<'_, Response> {
        Box::pin(async move {
            let rest = prefixed_part(request.uri().path()).strip_prefix("/x/");
            let name = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default().to_owned();
            let app = self.0.read().unwrap().get(&name).cloned();
            match app {
                Some(app) if strip_prefix(&mut request, &format!("/x/{name}")) => app.answer(request).await,
                _ => Problem::new(&NOT_FOUND, "There is no such instance.").into_response(),
            }
        })
    }
}

fn instance(store: &Store, name: &'static str) -> App {
    let api = Handlers::new().on(Method::GET, "/v1/name", async move || Reply(name));
    let address: &'static str =
        if name == "ada" { "http://localhost/x/ada" } else { "http://localhost/x/bob" };
    Service { api, address, ..sample(store) }.into_app()
}

#[tokio::test]
async fn application_sends_each_request_to_an_instance_that_it_chooses() {
    let (store, instances) = (Store::new(Engine::Sqlite), Arc::new(Instances::default()));
    let (_server, client) = serve(App::new(instances.clone())).await;
    let name = async |path: &str| client.get(path).send().await;
    assert_eq!(name("/x/ada/v1/name").await.is_problem(404, "not-found"), "There is no such instance.");

    instances.0.write().unwrap().insert("ada".into(), instance(&store, "ada"));
    instances.0.write().unwrap().insert("bob".into(), instance(&store, "bob"));
    assert_eq!(name("/x/ada/v1/name").await.has_status(200).json(), "ada");
    assert_eq!(name("/x/bob/v1/name").await.has_status(200).json(), "bob");
    // The instance sets the prefix of its problems.
    for (path, prefix) in [("/x/bob/v1/none", "/x/bob"), ("/.well-known/none/x/ada", "/x/ada")] {
        let missing = name(path).await.has_status(404).json();
        let detail = format!(
            "There is nothing at this address. The API begins at {prefix}/v1; its operations are listed at {prefix}/docs."
        );
        assert_eq!(missing["type"], format!("{prefix}/problems/not-found"));
        assert_eq!(missing["detail"], detail);
    }

    instances.0.write().unwrap().remove("ada");
    assert_eq!(name("/x/ada/v1/name").await.is_problem(404, "not-found"), "There is no such instance.");
}
