//! What a client asks for at `/oauth/authorize`, checked (RFC 6749, 7636, 8707, 9700).

use std::borrow::Cow;

use url::Url;
use web::{Form, Problem};

use super::{
    AuthorizationServer, Scope,
    client::{Client, GrantType},
    error::Refusal,
};

/// Parameters of a request, of which none may come twice.
pub(super) struct Parameters<'a>(pub(super) Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl Parameters<'static> {
    /// The parameters in the body of a request to an endpoint for programs.
    pub(super) fn of_form(form: Result<Form, Problem>) -> Result<Self, Refusal> {
        match form {
            Ok(Form(pairs)) => Ok(Parameters(pairs)),
            Err(problem) => Err(Refusal::of_body(problem, "invalid_request")),
        }
    }
}

impl Parameters<'_> {
    /// The one resource that a token is asked for (RFC 8707), if one is named.
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

/// A request that can be put before a person.
pub(super) struct Asked {
    pub(super) client: Client,
    pub(super) redirect_uri: String,
    /// Whether the request named that address.
    pub(super) redirect_named: bool,
    pub(super) scopes: Vec<&'static Scope>,
    pub(super) state: Option<String>,
    pub(super) challenge: String,
    pub(super) audience: String,
}

/// Why it cannot.
pub(super) enum Refused {
    /// Nobody to send the person back to: they are told on a page.
    Page(String),
    /// The client is told, where it wants its answers.
    Client {
        client: Box<Client>,
        redirect_uri: String,
        state: Option<String>,
        error: &'static str,
        description: String,
    },
    Problem(Problem),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Refused::Problem(problem)
    }
}

impl AuthorizationServer {
    pub(super) async fn check_request(&self, parameters: &Parameters<'_>) -> Result<Asked, Refused> {
        // Until client and address are known to belong together, nothing is sent anywhere (RFC 9700, 4.11).
        let page = |text: String| Refused::Page(text);
        let id = parameters.get("client_id").map_err(page)?;
        let id =
            id.ok_or_else(|| page("The request does not say which application it comes from.".into()))?;
        let client = self.client(id).await?;
        let client =
            client.ok_or_else(|| page("No application is registered under this client_id.".into()))?;
        let named = parameters.get("redirect_uri").map_err(page)?;
        let redirect_uri = match (named, client.redirect_uris.as_slice()) {
            (Some(named), _) => named.to_owned(),
            // RFC 6749, 3.1.2.3: it goes without saying if there is only one.
            (None, [only]) => only.clone(),
            (None, _) => return Err(page("The request does not say where to return to.".into())),
        };
        if !client.may_return_to(&redirect_uri) {
            return Err(page(
                "The application is not registered for the address it wants you returned to.".into(),
            ));
        }
        let state = parameters.get("state").map_err(page)?.map(str::to_owned);
        let answer = |error: &'static str, description: String| Refused::Client {
            client: Box::new(client.clone()),
            redirect_uri: redirect_uri.clone(),
            state: state.clone(),
            error,
            description,
        };
        let get = |name| parameters.get(name).map_err(|why| answer("invalid_request", why));
        match get("response_type")? {
            Some("code") => {}
            Some(_) => return Err(answer("unsupported_response_type", "response_type must be code".into())),
            None => return Err(answer("invalid_request", "response_type is required".into())),
        }
        if !client.may(GrantType::AuthorizationCode) {
            let why = "the client is not registered for authorization_code";
            return Err(answer("unauthorized_client", why.into()));
        }
        if get("response_mode")?.is_some_and(|mode| mode != "query") {
            return Err(answer("invalid_request", "response_mode must be query".into()));
        }
        if get("request")?.is_some() {
            return Err(answer("request_not_supported", "request objects are not supported".into()));
        }
        if get("request_uri")?.is_some() {
            return Err(answer("request_uri_not_supported", "request objects are not supported".into()));
        }
        let challenge = get("code_challenge")?;
        let challenge =
            challenge.ok_or_else(|| answer("invalid_request", "code_challenge is required (PKCE)".into()))?;
        if get("code_challenge_method")? != Some("S256") {
            return Err(answer("invalid_request", "code_challenge_method must be S256".into()));
        }
        if challenge.len() != 43 || !challenge.bytes().all(is_base64url) {
            return Err(answer(
                "invalid_request",
                "code_challenge must be 43 characters of base64url".into(),
            ));
        }
        let scopes =
            self.choose_scopes(get("scope")?, &client.scopes).map_err(|why| answer("invalid_scope", why))?;
        let audience = parameters.resource().and_then(|resource| self.choose_audience(resource));
        let audience = audience.map_err(|why| answer("invalid_target", why))?;
        let (challenge, redirect_named) = (challenge.to_owned(), named.is_some());
        Ok(Asked { client, redirect_uri, redirect_named, scopes, state, challenge, audience })
    }

    /// The scopes asked for, or all that can be had if none is named.
    pub(super) fn choose_scopes(
        &self,
        asked: Option<&str>,
        allowed: &[String],
    ) -> Result<Vec<&'static Scope>, String> {
        let known =
            || self.0.settings.scopes.iter().filter(|scope| allowed.iter().any(|name| name == scope.name));
        let Some(asked) = asked else { return Ok(known().collect()) };
        let names: Vec<_> = asked.split(' ').collect();
        if let Some(unknown) = names.iter().find(|name| !known().any(|scope| scope.name == **name)) {
            return Err(format!("the scope {unknown:?} is unknown, or not for this client"));
        }
        Ok(known().filter(|scope| names.contains(&scope.name)).collect())
    }

    /// What the token is to be for.
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

    /// The address of the client with an answer in it. Every answer says whose it is (RFC 9207).
    pub(super) fn answer_at(
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
