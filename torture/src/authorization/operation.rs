//! The operations of the OpenAPI documents, and who may call each.

use serde_json::Value;

use crate::installation::Service;

/// The parameters that name something of one user. Where the second value is true, anyone can see that it exists.
const OWNED: [(&str, bool); 5] =
    [("bookingId", false), ("webhookId", false), ("inboxId", false), ("ticketId", false), ("username", true)];

/// The parameters that name something that all users share, with a value.
const SHARED: [(&str, &str); 6] = [
    ("petId", "1"),
    ("orderId", "1"),
    ("imageId", "00000000-0000-7000-8000-000000000000"),
    ("eventId", "dad4bce8-f5cb-4078-a211-995864315e39"),
    ("stationId", "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e"),
    ("tripId", "00000000-0000-8000-8000-000000000000"),
];

/// How an operation takes credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    OAuth,
    Session,
    Basic,
    ApiKey,
}

impl Scheme {
    fn named(name: &str) -> Option<Self> {
        match name {
            "petstore_auth" | "OAuth2" => Some(Scheme::OAuth),
            "session" => Some(Scheme::Session),
            "MuseumPlaceholderAuth" => Some(Scheme::Basic),
            "api_key" => Some(Scheme::ApiKey),
            _ => None,
        }
    }
}

/// What an operation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Something of one user, named by this parameter.
    Owned {
        parameter: &'static str,
        is_known: bool,
    },
    Shared,
}

pub(crate) struct Operation {
    pub(crate) service: Service,
    pub(crate) method: String,
    /// With the parameter of something that is owned, and no other.
    pub(crate) path: String,
    /// None if it needs no sign-in.
    pub(crate) scheme: Option<Scheme>,
    pub(crate) subject: Subject,
    /// A media type and a body that the document has as an example.
    pub(crate) body: Option<(String, String)>,
}

impl Operation {
    /// All operations of a document, or what is not in the tables above.
    pub(crate) fn all(service: Service, document: &Value) -> Result<Vec<Self>, String> {
        let base = ["/v3", "", "/v1.1"][service as usize];
        let mut operations = Vec::new();
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            let methods = item.as_object().into_iter().flatten();
            for (method, operation) in methods.filter(|(_, operation)| operation["responses"].is_object()) {
                let security = operation.get("security").unwrap_or(&document["security"]);
                let operation = read(service, method, &format!("{base}{path}"), operation, security)
                    .map_err(|error| format!("{method} {path} of {}: {error}", service.name()))?;
                operations.push(operation);
            }
        }
        // The end of the session that the other calls need.
        operations.sort_by_key(|operation| operation.path.ends_with("/logout"));
        Ok(operations)
    }
}

fn read(
    service: Service,
    method: &str,
    path: &str,
    operation: &Value,
    security: &Value,
) -> Result<Operation, String> {
    let (path, subject) = subject(path)?;
    let query: Vec<_> = operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|parameter| parameter["in"] == "query" && parameter["required"] == true)
        .map(|parameter| format!("{}={}", text(&parameter["name"]), text(&example(parameter))))
        .collect();
    let path = if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) };
    Ok(Operation {
        service,
        method: method.to_uppercase(),
        path,
        scheme: scheme(security)?,
        subject,
        body: body(&operation["requestBody"]["content"]),
    })
}

/// What the parameter of a path names. A shared one is filled in.
fn subject(path: &str) -> Result<(String, Subject), String> {
    let Some((before, rest)) = path.split_once('{') else { return Ok((path.to_owned(), Subject::Shared)) };
    let (name, after) = rest.split_once('}').ok_or("a brace is open")?;
    if let Some((parameter, is_known)) = OWNED.into_iter().find(|(owned, _)| *owned == name) {
        return Ok((path.to_owned(), Subject::Owned { parameter, is_known }));
    }
    let shared = SHARED.iter().find(|(shared, _)| *shared == name);
    let (_, value) =
        shared.ok_or_else(|| format!("add {{{name}}} to the parameters that are owned, or shared"))?;
    Ok((format!("{before}{value}{after}"), Subject::Shared))
}

/// The credentials that an operation needs. One that works without any needs none.
fn scheme(security: &Value) -> Result<Option<Scheme>, String> {
    let requirements: Vec<_> = security.as_array().into_iter().flatten().collect();
    let names = requirements.iter().filter_map(|one| one.as_object()?.keys().next()).collect::<Vec<_>>();
    if names.len() < requirements.len() {
        return Ok(None);
    }
    let known = |name: &str| Scheme::named(name).ok_or_else(|| format!("{name} is no known way to sign in"));
    let schemes = names.into_iter().map(|name| known(name)).collect::<Result<Vec<_>, _>>()?;
    let needed = schemes.iter().find(|scheme| **scheme != Scheme::ApiKey).or(schemes.first());
    needed.map(|scheme| Some(*scheme)).ok_or_else(|| "the document does not say who may call it".to_owned())
}

fn body(content: &Value) -> Option<(String, String)> {
    let json = &content["application/json"];
    if json.is_object() {
        return Some(("application/json".to_owned(), example(json).to_string()));
    }
    let (media_type, _) = content.as_object()?.iter().next()?;
    Some((media_type.clone(), "text".to_owned()))
}

/// The first example of a parameter or of a body.
fn example(described: &Value) -> Value {
    let named = described["examples"].as_object().and_then(|examples| examples.values().next());
    let own = described.get("example").or_else(|| named.map(|example| &example["value"]));
    let of_schema = described["schema"]["examples"].get(0).or(described["schema"].get("example"));
    own.or(of_schema).cloned().unwrap_or_default()
}

fn text(value: &Value) -> String {
    match value {
        Value::Array(items) => items.first().map(text).unwrap_or_default(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
