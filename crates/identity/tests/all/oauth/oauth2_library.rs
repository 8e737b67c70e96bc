//! The client library `oauth2` works with this server.

use std::convert::Infallible;

use oauth2::{
    AccessToken, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet,
    EndpointSet, HttpRequest, HttpResponse, IntrospectionUrl, PkceCodeChallenge, RedirectUrl,
    RequestTokenError, RevocationUrl, Scope, StandardRevocableToken, TokenIntrospectionResponse,
    TokenResponse, TokenUrl, basic::BasicClient,
};
use url::Url;

use super::fixture::{APP, Browser, CALLBACK, Harness, Service};

/// The way its requests take.
async fn send(client: testkit::Client, request: HttpRequest) -> Result<HttpResponse, Infallible> {
    let (head, body) = request.into_parts();
    let headers = head.headers.iter().filter(|(name, _)| *name != "content-type");
    let call = headers.fold(client.call(head.method, head.uri.path()), |call, (name, value)| {
        call.header(name.as_str(), value.to_str().unwrap())
    });
    let answer = call.body("application/x-www-form-urlencoded", body).send().await;
    let mut response = HttpResponse::new(answer.body);
    *response.status_mut() = answer.status.try_into().unwrap();
    *response.headers_mut() = answer.headers;
    Ok(response)
}

type Ready = BasicClient<EndpointSet, EndpointNotSet, EndpointSet, EndpointSet, EndpointSet>;

/// The client, configured only from the metadata.
async fn client(service: &Service, id: &str, redirect_uri: &str) -> Ready {
    let metadata = service.client.get("/.well-known/oauth-authorization-server").send().await.json();
    let address = |name: &str| metadata[name].as_str().unwrap().to_owned();
    BasicClient::new(ClientId::new(id.to_owned()))
        .set_auth_uri(AuthUrl::new(address("authorization_endpoint")).unwrap())
        .set_token_uri(TokenUrl::new(address("token_endpoint")).unwrap())
        .set_introspection_url(IntrospectionUrl::new(address("introspection_endpoint")).unwrap())
        // It wants TLS for this one, which the test does without.
        .set_revocation_url(
            RevocationUrl::new(address("revocation_endpoint").replace("http:", "https:")).unwrap(),
        )
        .set_redirect_uri(RedirectUrl::new(redirect_uri.to_owned()).unwrap())
}

/// A person follows the client's link and allows it: the code.
async fn allow(service: &Service, link: &Url, state: &CsrfToken) -> AuthorizationCode {
    let path = format!("{}?{}", link.path(), link.query().unwrap());
    let allowed = Browser::new(service).allow(&path).await;
    let back = Url::parse(allowed.has_status(303).header("location")).unwrap();
    let get = |wanted: &str| back.query_pairs().find(|(name, _)| name == wanted).unwrap().1.into_owned();
    assert_eq!(get("state"), *state.secret());
    assert_eq!(get("iss"), service.issuer);
    AuthorizationCode::new(get("code"))
}

testkit::on_both_engines! {
    async fn public_client_redeems_a_code_refreshes_and_revokes(harness: Harness) {
        let service = &harness.service;
        let http = |request| send(service.client.clone(), request);
        let client = client(service, "demo", CALLBACK).await;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let link = client.authorize_url(CsrfToken::new_random).add_scope(Scope::new("read".into()));
        let (link, state) = link.set_pkce_challenge(challenge).url();
        let code = allow(service, &link, &state).await;
        let exchange = client.exchange_code(code).set_pkce_verifier(verifier);
        let tokens = exchange.request_async(&http).await.unwrap();
        assert_eq!(tokens.expires_in(), Some(std::time::Duration::from_secs(600)));
        assert_eq!(tokens.scopes(), Some(&vec![Scope::new("read".into())]));
        service.call("/v1/read", tokens.access_token().secret()).await.has_status(200);

        let old = tokens.refresh_token().unwrap();
        let next = client.exchange_refresh_token(old).request_async(&http).await.unwrap();
        service.call("/v1/read", next.access_token().secret()).await.has_status(200);
        let token: StandardRevocableToken = next.refresh_token().unwrap().into();
        client.revoke_token(token).unwrap().request_async(&http).await.unwrap();
        let gone = client.exchange_refresh_token(next.refresh_token().unwrap()).request_async(&http).await;
        match gone.unwrap_err() {
            RequestTokenError::ServerResponse(error) => assert_eq!(error.error().as_ref(), "invalid_grant"),
            other => panic!("{other}"),
        }
    }

    async fn confidential_client_uses_client_credentials_and_introspection(harness: Harness) {
        let service = &harness.service;
        let http = |request| send(service.client.clone(), request);
        let (id, secret) = service.register("Foreign", &["read", "write"], true).await;
        for auth in [AuthType::BasicAuth, AuthType::RequestBody] {
            let client = client(service, &id, APP).await.set_client_secret(ClientSecret::new(secret.clone()));
            let client = client.set_auth_type(auth);
            let wanted = client.exchange_client_credentials().add_scope(Scope::new("write".into()));
            let tokens = wanted.request_async(&http).await.unwrap();
            assert!(tokens.refresh_token().is_none());
            let token: AccessToken = tokens.access_token().clone();
            let about = client.introspect(&token).request_async(&http).await.unwrap();
            assert!(about.active());
            assert_eq!(about.client_id().map(|id| id.as_str()), Some(id.as_str()));
            assert_eq!(about.sub(), Some(id.as_str()));
            assert_eq!(about.scopes(), Some(&vec![Scope::new("write".into())]));
            assert_eq!(about.exp().unwrap().timestamp(), harness.clock.now().as_second() + 600);
            let revoked: StandardRevocableToken = token.clone().into();
            client.revoke_token(revoked).unwrap().request_async(&http).await.unwrap();
            assert!(!client.introspect(&token).request_async(&http).await.unwrap().active());
        }
    }
}
