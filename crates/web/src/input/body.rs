//! The body as a typed [`Input`].

use std::borrow::Cow;

use axum::extract::{FromRequest, Request};
use serde_json::Value;

use super::{
    Input, ValidationContext,
    collect::collect,
    content_type::{ContentType, FORM, Syntax},
    field::RawValue,
    form::{self, Pairs},
    large,
    read::read_body,
    repeats,
    unknown::UnknownParameters,
    xml,
};
use crate::{
    problem::{Problem, UNSUPPORTED_MEDIA_TYPE},
    request::RequestContext,
};

/// The body, read as a `T`.
pub struct Body<T>(pub T);

impl<S: Sync, T: Input + Send + 'static> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let syntax = Syntax::of::<T>(request.headers())?;
        let extensions = request.extensions();
        let (limits, context) = (RequestContext::limits(extensions), RequestContext::validation(extensions));
        let unknown = UnknownParameters::of(extensions, true).cloned();
        let bytes = collect(request, limits).await?;
        let body = large::parse(bytes, move |bytes| read(bytes, syntax, context)).await;
        UnknownParameters::join(unknown.as_ref(), body.map(Body))
    }
}

fn read<T: Input>(bytes: &[u8], syntax: Syntax, context: Option<ValidationContext>) -> Result<T, Problem> {
    match syntax {
        Syntax::Json => read_body(RawValue::Json(&json(bytes)?), context),
        Syntax::Xml { root } => {
            let text = utf8(bytes)?;
            let root = xml::parse(text, root).map_err(|why| Problem::invalid_at("#", why))?;
            read_body(RawValue::Xml(&root), context)
        }
        Syntax::Form => read_body(RawValue::Form(&pairs(utf8(bytes)?)?), context),
    }
}

/// A form (`application/x-www-form-urlencoded`) as its names and values.
pub struct Form(pub Pairs<'static>);

impl<S: Sync> FromRequest<S> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if !ContentType::of(request.headers()).is_some_and(|given| given.is(FORM)) {
            return Err(Problem::new(&UNSUPPORTED_MEDIA_TYPE, format!("The body must be sent as {FORM}.")));
        }
        let limits = RequestContext::limits(request.extensions());
        let bytes = collect(request, limits).await?;
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        large::parse(bytes, move |bytes| {
            let pairs = pairs(utf8(bytes)?)?;
            Ok(Form(pairs.into_iter().map(|(name, value)| (owned(name), owned(value))).collect()))
        })
        .await
    }
}

fn json(bytes: &[u8]) -> Result<Value, Problem> {
    if bytes.is_empty() {
        return Err(Problem::invalid_at("#", "is empty; a JSON object is required"));
    }
    utf8(bytes)?;
    let parsed =
        large::Turns::of(bytes).map_or_else(|| serde_json::from_slice(bytes), serde_json::from_reader);
    let body = parsed.map_err(|error| Problem::invalid_at("#", format!("is not valid JSON: {error}")))?;
    match repeats::first(bytes, &body) {
        Some(pointer) => Err(Problem::invalid_at(pointer, "is given more than once")),
        None => Ok(body),
    }
}

fn pairs(text: &str) -> Result<Pairs<'_>, Problem> {
    form::pairs(text).map_err(|why| Problem::invalid_at("#", why))
}

fn utf8(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|_| Problem::invalid_at("#", "is not UTF-8"))
}
