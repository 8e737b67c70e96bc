//! Lists as this service gives them: a page of data, and links to itself and its neighbours.

use axum::{
    extract::{FromRequestParts, OriginalUri},
    response::Response,
};
use http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;
use web::{
    Paging, Problem, Result, Wanted,
    input::{self, Fields, rules},
    xml::{ToXml, Xml},
};

/// How many items a page has, and how many it can have.
const USUAL: i64 = 10;
const MOST: i64 = 100;

pub(crate) fn paging(fields: &mut Fields<'_>) -> Option<Paging> {
    let page = fields.optional("page", rules::page());
    let limit = fields.optional("limit", rules::limit(MOST));
    Some(Paging::new(page?.unwrap_or(1), limit?.unwrap_or(USUAL)))
}

/// A page of a list.
#[derive(Serialize)]
pub(crate) struct Page<T> {
    pub(crate) data: Vec<T>,
    pub(crate) links: PageLinks,
    #[serde(skip)]
    pub(crate) name: &'static str,
}

/// Where a page and its neighbours are.
#[derive(Serialize, ToSchema)]
#[schema(as = PageLinks)]
pub(crate) struct PageLinks {
    #[serde(rename = "self")]
    #[schema(format = "uri")]
    this: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri", required = false, nullable = false)]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri", required = false, nullable = false)]
    prev: Option<String>,
}

/// The address of a request as its client knows it, to make links from.
pub(crate) struct Here {
    path: String,
    parameters: Vec<(String, String)>,
}

impl<S: Sync + Send> FromRequestParts<S> for Here {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let Ok(OriginalUri(uri)) = OriginalUri::from_request_parts(parts, state).await;
        let pairs = input::form_pairs(uri.query().unwrap_or_default())
            .map_err(|why| Problem::invalid_at("?", why))?;
        let parameters =
            pairs.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        Ok(Here { path: uri.path().to_owned(), parameters })
    }
}

impl Here {
    /// This page of a list at `address`, of which more follows or not.
    pub(crate) fn links(&self, address: &str, paging: Paging, more: bool) -> PageLinks {
        let page = paging.page();
        PageLinks {
            this: self.link(address, None),
            next: page.checked_add(1).filter(|_| more).map(|page| self.link(address, Some(page))),
            prev: (page > 1).then(|| self.link(address, Some(page - 1))),
        }
    }

    fn link(&self, address: &str, page: Option<i64>) -> String {
        let page = page.map(|page| page.to_string());
        let mut link = format!("{address}{}", self.path);
        let mut separator = '?';
        let mut add = |name: &str, value: &str| {
            link.push(separator);
            separator = '&';
            encode(&mut link, name);
            link.push('=');
            encode(&mut link, value);
        };
        let mut said = false;
        for (name, value) in &self.parameters {
            match &page {
                Some(page) if name == "page" => {
                    said = true;
                    add(name, page);
                }
                _ => add(name, value),
            }
        }
        if let Some(page) = page.filter(|_| !said) {
            add("page", &page);
        }
        link
    }
}

/// Adds text to an address, so that it means nothing but itself there.
fn encode(link: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b',' => {
                link.push(char::from(byte));
            }
            byte => {
                link.push('%');
                link.push(char::from(HEX[usize::from(byte >> 4)]));
                link.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
}

/// Which items of a list are on a page, and whether more follow.
pub(crate) fn cut<T>(items: Vec<T>, paging: Paging) -> (Vec<T>, bool) {
    let skipped = paging.skipped().and_then(|skipped| usize::try_from(skipped).ok()).unwrap_or(usize::MAX);
    let limit = usize::try_from(paging.limit()).unwrap_or(usize::MAX);
    let more = items.len().saturating_sub(skipped) > limit;
    (items.into_iter().skip(skipped).take(limit).collect(), more)
}

impl<T: Serialize + ToXml> Page<T> {
    pub(crate) fn reply(&self, wanted: Wanted) -> Response {
        wanted.reply(self)
    }
}

impl<T: ToXml> ToXml for Page<T> {
    const ROOT: &'static str = "data";

    fn content(&self, xml: &mut Xml) {
        xml.element(self.name, |xml| self.data.iter().for_each(|item| xml.one(item)));
        xml.element("links", |xml| {
            xml.text("self", &self.links.this);
            if let Some(next) = &self.links.next {
                xml.text("next", next);
            }
            if let Some(prev) = &self.links.prev {
                xml.text("prev", prev);
            }
        });
    }
}
