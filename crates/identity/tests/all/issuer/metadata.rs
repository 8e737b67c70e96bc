//! The metadata of a service about its issuer (RFC 9728).

use identity::oauth::{self, Scope};
use serde_json::json;
use testkit::{Answer, Client, Server};
use web::ConnectionLimits;

use super::fixture::{Issuer, Service};

const SCOPES: &[Scope] =
    &[Scope { name: "read", words: "see trains" }, Scope { name: "write", words: "book trains" }];

async fn serve(issuer: &Issuer, prefix: &str) -> (Client, Server) {
    let router = oauth::external_router(&issuer.settings(), SCOPES, prefix);
    let server = Server::start(ConnectionLimits::default(), |_| router).await;
    (Client::new(server.address()), server)
}

#[tokio::test]
async fn metadata_names_the_issuer_of_a_service() {
    let issuer = Issuer::start().await;
    let (client, _server) = serve(&issuer, "/v2").await;
    for (part, resource) in [("", "https://trains.example"), ("/v2", "https://trains.example/v2")] {
        let path = format!("/.well-known/oauth-protected-resource{part}");
        let answer = client.get(&path).header("origin", "https://app.example.com").send().await;
        answer.is(
            200,
            &json!({
                "resource": resource,
                "resource_name": "Trains",
                "authorization_servers": [issuer.url],
                "scopes_supported": ["read", "write"],
                "bearer_methods_supported": ["header"],
                "resource_documentation": "https://trains.example/docs",
            }),
        );
        let header = |answer: &Answer, name| answer.header(name).to_owned();
        assert_eq!(header(&answer, "content-type"), "application/json");
        assert_eq!(header(&answer, "cache-control"), "public, max-age=3600");
        assert_eq!(header(&answer, "access-control-allow-origin"), "*");
        let asked =
            client.call("OPTIONS".parse().unwrap(), &path).header("origin", "https://app.example.com");
        let asked = asked.header("access-control-request-method", "GET");
        let asked = asked.header("access-control-request-headers", "mcp-protocol-version").send().await;
        assert_eq!(header(asked.has_status(200), "access-control-allow-origin"), "*");
        assert_eq!(header(&asked, "access-control-allow-headers"), "mcp-protocol-version");
    }
    client.get("/.well-known/oauth-protected-resource/v1").send().await.has_status(404);
    // No route of an authorization server.
    for path in ["/.well-known/oauth-authorization-server", "/oauth/authorize", "/oauth/jwks.json"] {
        client.get(path).send().await.has_status(404);
    }
}

#[tokio::test]
async fn challenge_names_the_metadata() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    let refused = service.call("").await;
    let challenge = refused.has_status(401).header("www-authenticate").to_owned();
    let address = challenge.split("resource_metadata=\"").nth(1).and_then(|rest| rest.split('"').next());
    let path = address.and_then(|address| address.strip_prefix("https://trains.example")).unwrap();
    // A service whose API has no prefix.
    let (client, _server) = serve(&issuer, "").await;
    let document = client.get(path).send().await.has_status(200).json();
    assert_eq!(document["authorization_servers"], json!([issuer.url]));
}
