//! The operations on `/sandboxes`: create and list.

use std::net::IpAddr;

use axum::extract::{FromRequestParts, State};
use http::{HeaderValue, header, request::Parts};
use jiff::Timestamp;
use model::{Input, Parameters, Resource};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use web::{
    App, Body, Created, Problem, Query, Reply, RequestContext, Result,
    openapi::ApiRoutes,
    problem::{FORBIDDEN, TOO_MANY_REQUESTS, UNAUTHORIZED},
    routes,
};

use crate::{
    Sandboxes, ServiceSetup,
    journal::Activity,
    name::{self, Name},
    problem::{KINDS, NAME_TAKEN},
    registry::CreateError,
    service_app::{Api, service_app},
    store::{self, Sandbox},
};

/// Where the operations are.
pub(crate) const PATH: &str = "/sandboxes";

/// How many random characters a name has that the server chooses.
const RANDOM_NAME: usize = 12;

pub(crate) fn app(sandboxes: &Sandboxes, at: usize) -> App {
    let (handlers, document) = ApiRoutes::new("", Document::openapi()).routes(routes!(create, list)).finish();
    let api = Api {
        title: "Sandboxes",
        about: "Private copies of the services.",
        path: PATH.into(),
        handlers: handlers.with_state(sandboxes),
        document,
        problems: KINDS,
    };
    service_app(sandboxes, at, api)
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sandboxes",
        version = "1.0.0",
        description = "Private copies of the services, for a student, a test run or a demo.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    servers((url = "/", description = "This service")),
    modifiers(&TokenScheme),
    tags((name = "Sandboxes", description = "Create and list sandboxes.")),
)]
struct Document;

/// The security scheme of control tokens.
pub(crate) struct TokenScheme;

impl Modify for TokenScheme {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The control token of the sandbox, or the operator's token."))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("control_token", SecurityScheme::Http(bearer));
    }
}

/// Who creates a sandbox.
enum Creator {
    Operator,
    /// A client of a demo, by the network of its address.
    Client(String),
}

impl Creator {
    fn client(address: IpAddr) -> Self {
        Creator::Client(web::network(address.to_canonical()).to_string())
    }
}

impl FromRequestParts<Sandboxes> for Creator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, sandboxes: &Sandboxes) -> Result<Self> {
        if parts.headers.contains_key(header::AUTHORIZATION) || !sandboxes.0.setup.demo {
            return Operator::from_request_parts(parts, sandboxes).await.map(|Operator| Creator::Operator);
        }
        if is_from_another_site(parts, sandboxes) {
            let detail = "A page of another site cannot create a sandbox without the operator's token.";
            return Err(Problem::new(&FORBIDDEN, detail));
        }
        let context = RequestContext::of(&parts.extensions);
        Ok(context.map_or(Creator::Client(String::new()), |context| Creator::client(context.client_ip())))
    }
}

/// Whether a browser reports that a page of another site sends the request. Otherwise any page could create sandboxes on the
/// machine of its visitor, and read their tokens.
fn is_from_another_site(parts: &Parts, sandboxes: &Sandboxes) -> bool {
    web::is_from_another_origin(parts, sandboxes.0.setup.services.iter().map(|setup| setup.address.as_str()))
}

/// The operator, by the operator's token.
struct Operator;

impl FromRequestParts<Sandboxes> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, sandboxes: &Sandboxes) -> Result<Self> {
        match sandboxes.is_operator(&parts.headers) {
            true => Ok(Operator),
            false => Err(unauthorized("This operation needs the operator's token, as a bearer token.")),
        }
    }
}

pub(crate) fn unauthorized(detail: &'static str) -> Problem {
    Problem::new(&UNAUTHORIZED, detail)
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"Sandboxes\""))
}

/// A sandbox to be.
#[derive(Debug, Clone, Input)]
#[resource(closed)]
struct NewSandbox {
    /// Lower-case letters, digits and dashes. The server chooses a name if there is none.
    #[field(rule = name::rule(), example = "ada")]
    name: Option<String>,
    /// A class that the sandbox belongs to.
    #[field(rule = name::rule(), example = "monday")]
    class: Option<String>,
}

/// A sandbox that was created.
#[derive(Debug, Clone, Resource)]
pub(crate) struct CreatedSandbox {
    #[field(rule = text(1..))]
    name: String,
    /// The token for the controls. It is shown only here.
    #[field(rule = text(1..))]
    control_token: String,
    /// The address of the controls.
    #[field(rule = text(1..))]
    control_url: String,
    /// When the sandbox is deleted if it is not used.
    expires_at: Timestamp,
    #[field(items = 0..=10)]
    services: Vec<SandboxService>,
}

/// A service of a sandbox.
#[derive(Debug, Clone, Resource)]
pub(crate) struct SandboxService {
    #[field(rule = text(1..))]
    name: String,
    #[field(rule = text(1..))]
    base_url: String,
    #[field(rule = text(1..))]
    docs: String,
    #[field(rule = text(1..))]
    openapi: String,
    /// The account that signs in.
    #[field(rule = text(1..), example = "demo")]
    username: Option<String>,
    #[field(rule = text(1..), example = "demo")]
    password: Option<String>,
    #[field(rule = text(1..), example = "special-key")]
    api_key: Option<String>,
    /// The id of the public OAuth client.
    #[field(rule = text(1..), example = "demo")]
    client_id: Option<String>,
    /// How to sign in, in words.
    #[field(rule = text(1..))]
    sign_in: Option<String>,
}

/// A sandbox.
#[derive(Debug, Clone, Resource)]
pub(crate) struct SandboxInfo {
    /// Empty for the root services.
    #[field(rule = text(..))]
    name: String,
    #[field(rule = text(1..))]
    class: Option<String>,
    created_at: Timestamp,
    used_at: Timestamp,
    /// When the sandbox is deleted if it is not used. The root services are not deleted.
    expires_at: Option<Timestamp>,
    /// Absent if this process did not get a call of the sandbox.
    activity: Option<Activity>,
    #[field(items = 0..=10)]
    services: Vec<SandboxService>,
}

impl Sandboxes {
    fn services_of(&self, name: &Name) -> Vec<SandboxService> {
        let service = |setup: &ServiceSetup| {
            let description = setup.service.description();
            let address = format!("{}{}", setup.address, name.path());
            let demo = setup.service.demo_credentials();
            SandboxService {
                name: description.name.into(),
                base_url: format!("{address}{}", description.prefix),
                docs: format!("{address}/docs"),
                openapi: format!("{address}/openapi.json"),
                username: demo.map(|demo| demo.username.into()),
                password: demo.map(|demo| demo.password.into()),
                api_key: demo.and_then(|demo| demo.api_key).map(Into::into),
                client_id: demo.and_then(|demo| demo.client_id).map(Into::into),
                sign_in: setup.service.sign_in_help(true),
            }
        };
        self.0.setup.services.iter().map(service).collect()
    }

    pub(crate) fn info(&self, row: &Sandbox) -> SandboxInfo {
        let name = Name::new(&row.name).unwrap_or_else(Name::root);
        SandboxInfo {
            name: row.name.clone(),
            class: row.class.clone(),
            created_at: row.created_at,
            used_at: row.used_at,
            expires_at: (!name.is_root()).then(|| self.expires_at(row)),
            activity: self.0.journals.activity(&name),
            services: self.services_of(&name),
        }
    }
}

/// Create a sandbox
///
/// In a demo any client can create some, except the pages of other sites. Otherwise the operator's token is needed.
#[utoipa::path(
    post, path = "/", operation_id = "createSandbox", tag = "Sandboxes",
    request_body = NewSandbox,
    responses(
        (status = 201, description = "The sandbox can be used.", body = CreatedSandbox,
            headers(("Location" = String, description = "Where its controls are."))),
        (status = 403, description = "A page of another site sends this, without the operator's token."),
        (status = 409, description = "The name is taken."),
    ),
    security((), ("control_token" = [])),
)]
async fn create(
    creator: Creator,
    State(sandboxes): State<Sandboxes>,
    Body(new): Body<NewSandbox>,
) -> Result<Created<CreatedSandbox>> {
    let chosen = new.name.unwrap_or_else(|| sandboxes.0.setup.random.code(RANDOM_NAME));
    let name =
        Name::new(&chosen).ok_or_else(|| Problem::invalid_at("#/name", "must not begin with template"))?;
    let creator = match creator {
        Creator::Operator => None,
        Creator::Client(address) => Some(address),
    };
    let (row, control_token) =
        sandboxes.create(&name, new.class, creator).await.map_err(|error| match error {
            CreateError::Taken => Problem::new(&NAME_TAKEN, "There is a sandbox with this name already."),
            CreateError::TooMany => Problem::new(
                &TOO_MANY_REQUESTS,
                "There are as many sandboxes as there can be. Try again later.",
            )
            .retry_after(600),
            CreateError::TooManyOfAddress => Problem::new(
                &TOO_MANY_REQUESTS,
                "As many sandboxes as an address can create exist already. Delete one, or use it.",
            ),
            CreateError::Failed(problem) => problem,
        })?;
    let services = sandboxes.services_of(&name);
    let control_url = control_url(&sandboxes, &name);
    let body = CreatedSandbox {
        name: name.to_string(),
        control_token,
        control_url: control_url.clone(),
        expires_at: sandboxes.expires_at(&row),
        services,
    };
    Ok(Created { location: Some(control_url), body })
}

/// The address of the controls, on the listener of the first service.
pub(crate) fn control_url(sandboxes: &Sandboxes, name: &Name) -> String {
    let address = sandboxes.0.setup.services.first().map_or("", |setup| &setup.address);
    format!("{address}{}{}", name.path(), name::CONTROL)
}

#[derive(Parameters)]
struct ListQuery {
    /// Only the sandboxes of this class.
    #[field(rule = text(1..=32))]
    class: Option<String>,
    /// Only sandboxes after this name.
    #[field(rule = text(1..=32))]
    after: Option<String>,
    /// How many sandboxes the answer has.
    #[field(rule = limit(200), default = 100)]
    limit: i64,
}

/// Sandboxes in the order of their names.
#[derive(Debug, Clone, Resource)]
struct SandboxList {
    #[field(items = 0..=200)]
    sandboxes: Vec<SandboxInfo>,
}

/// List sandboxes
///
/// In the order of their names. The operator's token is needed.
#[utoipa::path(
    get, path = "/", operation_id = "listSandboxes", tag = "Sandboxes",
    params(ListQuery),
    responses((status = 200, description = "The sandboxes.", body = SandboxList)),
    security(("control_token" = [])),
)]
async fn list(
    _operator: Operator,
    State(sandboxes): State<Sandboxes>,
    Query(ListQuery { class, after, limit }): Query<ListQuery>,
) -> Result<Reply<SandboxList>> {
    let rows = sandboxes
        .0
        .registry
        .read(move |tx| store::list(tx, class.as_deref(), after.as_deref().unwrap_or_default(), limit));
    let rows: Vec<Sandbox> = rows.await?;
    Ok(Reply(SandboxList { sandboxes: rows.iter().map(|row| sandboxes.info(row)).collect() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_one_client() {
        for (address, counted) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2::7", "2001:db8:1:2::"),
            ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
            ("2001:db8:1:3::7", "2001:db8:1:3::"),
        ] {
            let Creator::Client(client) = Creator::client(address.parse().unwrap()) else {
                panic!("{address}")
            };
            assert_eq!(client, counted, "{address}");
        }
    }
}
