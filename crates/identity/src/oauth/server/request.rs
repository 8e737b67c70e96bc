//! Checks authorization requests (RFC 6749, 7636, 8707, 9700).

use std::borrow::Cow;

use url::Url;
use web::{Form, Problem};

use super::{
    client::{Client, GrantType},
    error::ErrorResponse,
    state::AuthorizationServer,
};
use crate::oauth::scope::Scope;

/// The parameters of a request. None may be repeated.
pub(super) struct Parameters<'a>(pub(super) Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl Parameters<'static> {
    /// The parameters in the body of a request.
    pub(super) fn of_form(form: Result<Form, Problem>) -> Result<Self, ErrorResponse> {
        match form {
            Ok(Form(pairs)) => Ok(Parameters(pairs)),
            Err(problem) => Err(ErrorResponse::of_body(problem, "invalid_request")),
        }
    }
}

impl Parameters<'_> {
    /// The requested resource (RFC 8707), if there is one.
    pub(super) fn resource(&self) -> Result<Option<&str>, String> {
        self.get("resource").map_err(|_| "a token is for one resource only".into())
    }

    /// A parameter's value. One without a value counts as absent.
    pub(super) fn get(&self, name: &str) -> Result<Option<&str>, String> {
        let mut found = self.0.iter().filter(|(found, _)| found == name);
        let first = found.next().map(|(_, value)| value.as_ref());
        match found.next() {
            Some(_) => Err(format!("{name} is given more than once")),
            None => Ok(first.filter(|value| !value.is_empty())),
        }
    }
}

/// A valid authorization request, which a user can decide on.
pub(super) struct AuthorizationRequest {
    pub(super) client: Client,
    pub(super) redirect_uri: String,
    /// Whether the request has a `redirect_uri`.
    pub(super) redirect_named: bool,
    pub(super) scopes: Vec<&'static Scope>,
    pub(super) state: Option<String>,
    pub(super) challenge: String,
    pub(super) audience: String,
}

/// Why an authorization request is invalid.
pub(super) enum RequestError {
    /// The redirect address is not known to be the client's: the user sees a page.
    Page(String),
    /// The error is sent to the redirect address.
    Client {
        client: Box<Client>,
        redirect_uri: String,
        state: Option<String>,
        error: &'static str,
        description: String,
    },
    Problem(Problem),
}

impl From<Problem> for RequestError {
    fn from(problem: Problem) -> Self {
        RequestError::Problem(problem)
    }
}

impl AuthorizationServer {
    pub(super) async fn check_request(
        &self,
        parameters: &Parameters<'_>,
    ) -> Result<AuthorizationRequest, RequestError> {
        // Nothing is sent to an address before it is known to be the client's (RFC 9700, 4.11).
        let page = |text: String| RequestError::Page(text);
        let id = parameters.get("client_id").map_err(page)?;
        let id =
            id.ok_or_else(|| page("The request does not say which application it comes from.".into()))?;
        let client = self.client(id).await?;
        let client =
            client.ok_or_else(|| page("No application is registered under this client_id.".into()))?;
        let named = parameters.get("redirect_uri").map_err(page)?;
        let redirect_uri = match (named, client.redirect_uris.as_slice()) {
            (Some(named), _) => named.to_owned(),
            // RFC 6749, 3.1.2.3: optional if only one is registered.
            (None, [only]) => only.clone(),
            (None, _) => return Err(page("The request does not say where to return to.".into())),
        };
        if !client.may_redirect_to(&redirect_uri) {
            return Err(page(
                "The application is not registered for the address it wants you returned to.".into(),
            ));
        }
        let state = parameters.get("state").map_err(page)?.map(str::to_owned);
        let error = |code: &'static str, description: String| RequestError::Client {
            client: Box::new(client.clone()),
            redirect_uri: redirect_uri.clone(),
            state: state.clone(),
            error: code,
            description,
        };
        let get = |name| parameters.get(name).map_err(|why| error("invalid_request", why));
        match get("response_type")? {
            Some("code") => {}
            Some(_) => return Err(error("unsupported_response_type", "response_type must be code".into())),
            None => return Err(error("invalid_request", "response_type is required".into())),
        }
        if !client.may(GrantType::AuthorizationCode) {
            let why = "the client is not registered for authorization_code";
            return Err(error("unauthorized_client", why.into()));
        }
        if get("response_mode")?.is_some_and(|mode| mode != "query") {
            return Err(error("invalid_request", "response_mode must be query".into()));
        }
        if get("request")?.is_some() {
            return Err(error("request_not_supported", "request objects are not supported".into()));
        }
        if get("request_uri")?.is_some() {
            return Err(error("request_uri_not_supported", "request objects are not supported".into()));
        }
        let challenge = get("code_challenge")?;
        let challenge =
            challenge.ok_or_else(|| error("invalid_request", "code_challenge is required (PKCE)".into()))?;
        if get("code_challenge_method")? != Some("S256") {
            return Err(error("invalid_request", "code_challenge_method must be S256".into()));
        }
        if challenge.len() != 43 || !challenge.bytes().all(is_base64url) {
            return Err(error("invalid_request", "code_challenge must be 43 characters of base64url".into()));
        }
        let scopes =
            self.choose_scopes(get("scope")?, &client.scopes).map_err(|why| error("invalid_scope", why))?;
        let audience = parameters.resource().and_then(|resource| self.choose_audience(resource));
        let audience = audience.map_err(|why| error("invalid_target", why))?;
        let (challenge, redirect_named) = (challenge.to_owned(), named.is_some());
        Ok(AuthorizationRequest { client, redirect_uri, redirect_named, scopes, state, challenge, audience })
    }

    /// The requested scopes, or all allowed ones if none is requested.
    pub(super) fn choose_scopes(
        &self,
        requested: Option<&str>,
        allowed: &[String],
    ) -> Result<Vec<&'static Scope>, String> {
        let known =
            || self.0.settings.scopes.iter().filter(|scope| allowed.iter().any(|name| name == scope.name));
        let Some(requested) = requested else { return Ok(known().collect()) };
        let names: Vec<_> = requested.split(' ').collect();
        if let Some(unknown) = names.iter().find(|name| !known().any(|scope| scope.name == **name)) {
            return Err(format!("the scope {unknown:?} is unknown, or not for this client"));
        }
        Ok(known().filter(|scope| names.contains(&scope.name)).collect())
    }

    /// The audience of the token.
    pub(super) fn choose_audience(&self, resource: Option<&str>) -> Result<String, String> {
        let all = self.0.settings.audiences();
        match resource {
            None => Ok(self.0.settings.issuer.clone()),
            Some(resource) => {
                let known = all.into_iter().find(|audience| audience == resource);
                known.ok_or_else(|| "the resource is none of this server's".into())
            }
        }
    }

    /// The redirect address with the parameters of a response, including the issuer (RFC 9207).
    pub(super) fn redirect_address(
        &self,
        redirect_uri: &str,
        state: Option<&str>,
        parameters: &[(&str, &str)],
    ) -> Result<Url, Problem> {
        let mut url = Url::parse(redirect_uri).map_err(Problem::internal)?;
        {
            let mut pairs = url.query_pairs_mut();
            pairs.extend_pairs(parameters);
            if let Some(state) = state {
                pairs.append_pair("state", state);
            }
            pairs.append_pair("iss", &self.0.settings.issuer);
        }
        Ok(url)
    }
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
