//! The authorization server of one service as the external issuer of another.

use identity::oauth::ExternalIssuer;
use jiff::SignedDuration;
use serde_json::json;

use super::fixture::Service;
use crate::oauth::fixture::{Harness, text};

testkit::on_both_engines! {
    async fn token_of_one_service_is_accepted_by_the_other(harness: Harness) {
        let issuer = &harness.service.issuer;
        let audience = format!("{issuer}/v1");
        let settings = ExternalIssuer {
            service: "Trains",
            resource: "https://trains.example".into(),
            url: issuer.clone(),
            audience: audience.clone(),
            types: vec!["at+jwt".into()],
            scope_claim: "scope".into(),
        };
        let other = Service::start_with(settings, harness.clock.clone()).await;
        let client = &harness.service.client;
        let body = json!({"client_name": "Timetable", "grant_types": ["client_credentials"]});
        let registered = client.post("/oauth/register").json(&body).send().await;
        let registered = registered.has_status(201).json();
        let (id, secret) = (text(&registered["client_id"]), text(&registered["client_secret"]));
        let token = async |scope: &str, resource: &str| {
            let form = [
                ("grant_type", "client_credentials"),
                ("client_id", id.as_str()),
                ("client_secret", secret.as_str()),
                ("scope", scope),
                ("resource", resource),
            ];
            text(&harness.service.token(&form).await.has_status(200).json()["access_token"])
        };
        let access = token("read", &audience).await;
        assert_eq!(other.call(&access).await.has_status(200).text(), id);
        other.call(&token("write", &audience).await).await.is_problem(403, "forbidden");
        other.refuses(token("read", issuer).await, "is for another audience").await;
        harness.clock.advance(SignedDuration::from_mins(10));
        other.refuses(access, "has expired").await;
    }
}
