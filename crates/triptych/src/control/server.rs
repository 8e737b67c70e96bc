//! Calls of a running server over HTTP.

use std::{error::Error, iter::successors, time::Duration};

use reqwest::{Client, Method, Response, redirect};
use sandbox::Name;
use serde::de::DeserializeOwned;
use serde_json::Value;
use service::public_address;
use url::{Url, form_urlencoded};

use super::arguments::{ServerFlags, Target};
use crate::{
    Failure, secret,
    settings::{ControlVariables, Settings, is_local},
    table::as_text,
};

/// The most bytes of an answer that is read as a whole: some times a full journal.
const LONGEST: usize = 64 * 1024 * 1024;

/// The longest time for a call: on a busy PostgreSQL, a sandbox may need some seconds.
const CALL_TIME: Duration = Duration::from_secs(120);

/// The longest time until a connection is accepted.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// A call that the server did not answer, or answered with an error. The program exits with code 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CallError(String);

impl CallError {
    /// The error as a failure of the command.
    pub(crate) fn failure(line: String) -> Failure {
        CallError(line).into()
    }
}

/// The part of a server that a call is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum About<'n> {
    /// The list of all sandboxes.
    All,
    /// The controls of the root services.
    Root,
    /// The controls of a sandbox.
    Sandbox(&'n Name),
}

impl<'n> From<&'n Target> for About<'n> {
    fn from(target: &'n Target) -> Self {
        target.name.as_ref().map_or(About::Root, About::Sandbox)
    }
}

impl About<'_> {
    fn path(self) -> String {
        match self {
            About::All => "/sandboxes".into(),
            About::Root => "/_control".into(),
            About::Sandbox(name) => format!("{}/_control", name.path()),
        }
    }
}

/// A running server, and the tokens for it.
pub(crate) struct Server {
    http: Client,
    /// Addresses of its services. The first that accepts a connection is called.
    addresses: Vec<String>,
    token: Option<String>,
    variables: ControlVariables,
    operator_token: Option<String>,
    /// What to do if a token is missing.
    without_token: String,
}

impl Server {
    pub(crate) fn new(flags: &ServerFlags, settings: &Settings) -> Result<Self, Failure> {
        let of_settings: Vec<_> = settings
            .services()
            .iter()
            .map(|service| public_address(service.address(), settings.scheme(), service.listen()))
            .collect();
        let addresses = match &flags.server {
            Some(server) => vec![address(server)?],
            None => of_settings.clone(),
        };
        // The token of this installation is not sent to other machines, unless the settings name them.
        let is_own = addresses.iter().all(|address| is_local(address) || of_settings.contains(address));
        let secret = if is_own { secret::existing(settings)? } else { None };
        let without_token = match is_own {
            true => format!(
                "there is no secret in {}: check --data, start triptych there once, or pass the token that triptych sandbox \
                 token prints on the server's machine, with --token or TRIPTYCH_OPERATOR_TOKEN",
                settings.data.display()
            ),
            false => "pass the token for this server with --token or TRIPTYCH_OPERATOR_TOKEN: triptych sandbox token prints it on \
                      the server's machine"
                .into(),
        };
        Ok(Server {
            http: client(&addresses)?,
            addresses,
            token: flags.token.clone(),
            variables: ControlVariables::read(),
            operator_token: secret.map(|secret| sandbox::operator_token(&secret)),
            without_token,
        })
    }

    /// The operator's token.
    pub(crate) fn operator_token(&self) -> Result<&str, Failure> {
        self.operator_token.as_deref().ok_or_else(|| self.without_token.clone().into())
    }

    /// The token for a call: the control token in the environment is only for its sandbox.
    fn token(&self, about: About<'_>) -> Option<&str> {
        let ControlVariables { operator, control, sandbox } = &self.variables;
        let is_its_sandbox = match about {
            About::Sandbox(name) => sandbox.as_ref().is_none_or(|sandbox| sandbox == name.as_str()),
            About::All | About::Root => false,
        };
        let control = control.as_deref().filter(|_| is_its_sandbox);
        let operator = operator.as_deref().or(self.operator_token.as_deref());
        self.token.as_deref().or(control).or(operator)
    }

    /// Calls the server, and gives the answer if it is a success. The path begins with a slash, or is empty.
    pub(crate) async fn call(&self, about: About<'_>, call: Call<'_>) -> Result<Response, Failure> {
        let token = self.token(about);
        if token.is_none() && !call.without_token {
            return Err(self.without_token.clone().into());
        }
        let mut failed = None;
        for address in &self.addresses {
            let url = format!("{address}{}{}", about.path(), call.path);
            let mut request = self.http.request(call.method.clone(), url);
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            if let Some(body) = &call.body {
                request = request.json(body);
            }
            if !call.is_stream {
                request = request.timeout(CALL_TIME);
            }
            match request.send().await {
                Ok(response) => return checked(response, about).await,
                Err(error) if error.is_connect() => failed = Some(error),
                Err(error) => return Err(CallError::failure(format!("{address}: {}", causes(&error)))),
            }
        }
        let why = failed.map(|error| causes(&error)).unwrap_or_default();
        let tried = self.addresses.join(" or ");
        Err(CallError(format!(
            "no server answers at {tried}: start one with triptych serve, or name another with --server ({why})"
        ))
        .into())
    }

    /// Calls the server, and reads the JSON that it answers.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        about: About<'_>,
        call: Call<'_>,
    ) -> Result<T, Failure> {
        Ok(serde_json::from_str(&text(self.call(about, call).await?).await?)?)
    }
}

/// A call: its method, its path below that of the sandbox, and its body.
#[derive(Clone)]
pub(crate) struct Call<'c> {
    method: Method,
    path: &'c str,
    body: Option<Value>,
    without_token: bool,
    is_stream: bool,
}

impl<'c> Call<'c> {
    fn new(method: Method, path: &'c str) -> Self {
        Call { method, path, body: None, without_token: false, is_stream: false }
    }

    pub(crate) fn get(path: &'c str) -> Self {
        Call::new(Method::GET, path)
    }

    pub(crate) fn post(path: &'c str) -> Self {
        Call::new(Method::POST, path)
    }

    pub(crate) fn put(path: &'c str) -> Self {
        Call::new(Method::PUT, path)
    }

    pub(crate) fn patch(path: &'c str) -> Self {
        Call::new(Method::PATCH, path)
    }

    pub(crate) fn delete(path: &'c str) -> Self {
        Call::new(Method::DELETE, path)
    }

    pub(crate) fn body(self, body: Value) -> Self {
        Call { body: Some(body), ..self }
    }

    /// The answer may take any time.
    pub(crate) fn stream(self) -> Self {
        Call { is_stream: true, ..self }
    }

    /// The server decides whether it needs a token.
    pub(crate) fn token_optional(self) -> Self {
        Call { without_token: true, ..self }
    }
}

/// A query string of the parameters that have a value; empty if there is none.
pub(crate) fn query(parameters: &[(&str, Option<&str>)]) -> String {
    let given = parameters.iter().filter_map(|(name, value)| Some((name, (*value)?)));
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// The text of an answer.
pub(crate) async fn text(mut response: Response) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| CallError(causes(&error)))? {
        if bytes.len() + chunk.len() > LONGEST {
            return Err(CallError("the answer of the server is too long".into()).into());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(bytes)?)
}

/// The answer, if it is a success; else the problem in one line.
async fn checked(response: Response, about: About<'_>) -> Result<Response, Failure> {
    let (status, url) = (response.status(), response.url().clone());
    if status.is_success() {
        return Ok(response);
    }
    let problem: Value = serde_json::from_str(&text(response).await?).unwrap_or_default();
    let said = |member: &Value| member.as_str().map(as_text);
    let Some(detail) = said(&problem["detail"]) else {
        let line = format!("{url} answered {status}: is it a Triptych server with sandboxes?");
        return Err(CallError(line).into());
    };
    let errors = problem["errors"].as_array().into_iter().flatten();
    let errors = errors.filter_map(|error| {
        let place = said(&error["pointer"]).or_else(|| said(&error["parameter"])).unwrap_or_default();
        Some(format!("{} {}", place.trim_start_matches(['#', '/', '?']), said(&error["detail"])?))
    });
    let errors: Vec<_> = errors.collect();
    let line = match about {
        About::Sandbox(name) if detail.starts_with(sandbox::UNKNOWN) => {
            format!("{} Create it with triptych sandbox create {name}.", sandbox::UNKNOWN)
        }
        _ if errors.is_empty() => detail,
        _ => errors.join("; "),
    };
    Err(CallError(format!("{line} ({status})")).into())
}

fn client(addresses: &[String]) -> reqwest::Result<Client> {
    let client = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIME)
        .user_agent(concat!("triptych/", env!("CARGO_PKG_VERSION")));
    // The certificates that the machine trusts take longer to read than most calls.
    let has_tls = addresses.iter().any(|address| address.starts_with("https:"));
    if has_tls { client.build() } else { client.tls_certs_only([]).build() }
}

/// The address of a server as given, without a slash at the end.
fn address(server: &str) -> Result<String, Failure> {
    match Url::parse(server) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.query().is_none() => {
            Ok(url.as_str().trim_end_matches('/').to_owned())
        }
        _ => Err(format!("--server must be an address like http://127.0.0.1:8080, not {server:?}").into()),
    }
}

/// The causes of an error: the message of reqwest leaves out the reason.
pub(crate) fn causes(error: &reqwest::Error) -> String {
    let last = successors(error.source(), |error| (*error).source()).last();
    last.map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_has_only_parameters_with_a_value() {
        assert_eq!(query(&[("class", None)]), "");
        assert_eq!(
            query(&[("class", Some("monday")), ("after", None), ("path", Some("/a b&c"))]),
            "?class=monday&path=%2Fa+b%26c"
        );
    }

    #[test]
    fn server_is_an_http_address() {
        assert_eq!(address("http://127.0.0.1:8080/").unwrap(), "http://127.0.0.1:8080");
        assert_eq!(address("https://pets.example.com").unwrap(), "https://pets.example.com");
        for wrong in ["", "127.0.0.1:8080", "localhost", "ftp://localhost", "http://a/?b"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
