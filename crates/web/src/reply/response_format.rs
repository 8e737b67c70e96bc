//! Answers in JSON or XML, by the `Accept` header.

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::request::Parts;
use serde::Serialize;

use super::{
    Batch, Reply, answer, created,
    list::{InJson, ListFormat, written},
};
use crate::{
    negotiate::{self, JSON, TEXT_XML, XML, vary},
    problem::{NOT_ACCEPTABLE, Problem, Result},
    xml::{DECLARATION, Listed, ToXml, Xml},
};

/// The response format by the client's `Accept` header. As an argument of an operation, it rejects a client that accepts
/// neither JSON nor XML before the operation runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseFormat {
    /// The media type of XML, or `None` for JSON.
    xml: Option<&'static str>,
}

impl<S: Sync> FromRequestParts<S> for ResponseFormat {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let xml = match negotiate::choose(&parts.headers, &[JSON, XML, TEXT_XML])? {
            JSON => None,
            // Without a charset, old clients read `text/*` as ASCII.
            TEXT_XML => Some("text/xml; charset=utf-8"),
            other => Some(other),
        };
        Ok(ResponseFormat { xml })
    }
}

impl ResponseFormat {
    /// 200 with this body.
    pub fn reply<T: Serialize + ToXml>(self, value: &T) -> Response {
        let mut response = match self.xml {
            None => Reply(value).into_response(),
            Some(media_type) => match Xml::document(value) {
                Some(document) => answer(media_type, document),
                None => return cannot_carry().into_response(),
            },
        };
        vary(&mut response);
        response
    }

    /// 201 with this `Location` and body.
    pub fn created<T: Serialize + ToXml>(self, location: Option<String>, value: &T) -> Response {
        created(location, self.reply(value))
    }

    /// A streamed list, as [`super::list`] writes it.
    pub async fn list<T, C, F, Fut>(self, first: C, fetch: F) -> Result<Response>
    where
        T: Serialize + Listed + Send + 'static,
        C: Send + 'static,
        F: Fn(C) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Batch<T, C>>> + Send + 'static,
    {
        let mut response = match self.xml {
            None => written(InJson, first, fetch).await?,
            Some(media_type) => written(InXml { media_type, root: T::LIST }, first, fetch).await?,
        };
        vary(&mut response);
        Ok(response)
    }
}

#[derive(Clone, Copy)]
struct InXml {
    media_type: &'static str,
    root: &'static str,
}

impl<T: ToXml> ListFormat<T> for InXml {
    fn media_type(self) -> &'static str {
        self.media_type
    }

    fn start(self, page: &mut Vec<u8>) {
        page.extend_from_slice(format!("{DECLARATION}<{}>", self.root).as_bytes());
    }

    fn item(self, page: &mut Vec<u8>, item: &T, _: bool) -> Result<()> {
        let mut xml = Xml::after(std::mem::take(page));
        xml.one(item);
        *page = xml.finish().ok_or_else(cannot_carry)?;
        Ok(())
    }

    fn end(self, page: &mut Vec<u8>) {
        page.extend_from_slice(format!("</{}>", self.root).as_bytes());
    }
}

/// JSON carries characters that XML cannot, so that stored text may have some.
fn cannot_carry() -> Problem {
    Problem::new(&NOT_ACCEPTABLE, "This answer has text that XML cannot carry; ask for application/json.")
}
