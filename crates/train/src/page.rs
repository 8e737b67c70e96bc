//! Pages of lists: the items, and links to this page, the previous and the next one.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, OriginalUri};
use http::{Uri, request::Parts};
use model::Resource;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr,
        schema::{ArrayBuilder, ObjectBuilder, Schema, Type},
        xml::XmlBuilder,
    },
};
use web::{
    Paging,
    input::{
        self, Pairs,
        rules::{Components, Describe, component},
    },
    xml::{Element, Listed, ToXml, Xml},
};

use crate::link::uri;

/// How many items a page has if the client does not say.
pub(crate) const USUAL: i64 = 10;
/// How many items a page can have.
pub(crate) const MOST: i64 = 100;

/// A page of a list.
#[derive(Serialize)]
pub(crate) struct Page<T> {
    pub(crate) data: Vec<T>,
    pub(crate) links: PageLinks,
}

impl<T: Listed> ToXml for Page<T> {
    const ROOT: &'static str = "data";

    fn content(&self, xml: &mut Xml) {
        xml.element(T::LIST, |xml| self.data.iter().for_each(|item| xml.one(item)));
        self.links.write("links", xml);
    }
}

impl<T: Listed + ToSchema> PartialSchema for Page<T> {
    fn schema() -> RefOr<Schema> {
        let named = |name| XmlBuilder::new().name(Some(name));
        let data = ArrayBuilder::new().items(Ref::from_schema_name(T::name()));
        let page = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(format!("A page of {}.", T::LIST)))
            .property("data", data.xml(Some(named(T::LIST).wrapped(Some(true)).build())))
            .required("data")
            .property("links", component::<PageLinks>().schema())
            .required("links");
        page.xml(Some(named(Self::ROOT).build())).into()
    }
}

impl<T: Listed + ToSchema> ToSchema for Page<T> {
    fn name() -> std::borrow::Cow<'static, str> {
        format!("{}Page", T::name()).into()
    }

    fn schemas(components: &mut Components) {
        component::<T>().components(components);
        component::<PageLinks>().components(components);
    }
}

/// The addresses of a page, the previous and the next one.
#[derive(Resource)]
#[resource(xml = "links")]
pub(crate) struct PageLinks {
    #[field(name = "self", rule = uri())]
    this: String,
    #[field(rule = uri())]
    next: Option<String>,
    #[field(rule = uri())]
    prev: Option<String>,
}

/// The public address of a request, for links.
pub(crate) struct PageAddress(Uri);

impl<S: Sync + Send> FromRequestParts<S> for PageAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let OriginalUri(uri) = OriginalUri::from_request_parts(parts, state).await?;
        Ok(PageAddress(uri))
    }
}

impl PageAddress {
    /// The links of this page of a list at `address`; `more` is whether another page follows.
    pub(crate) fn links(&self, address: &str, paging: Paging, more: bool) -> PageLinks {
        // The query was read before: it is valid.
        let parameters = input::form_pairs(self.0.query().unwrap_or_default()).unwrap_or_default();
        let link = |page| self.link(address, &parameters, page);
        let page = paging.page();
        PageLinks {
            this: link(None),
            next: page.checked_add(1).filter(|_| more).map(|page| link(Some(page))),
            prev: (page > 1).then(|| link(Some(page - 1))),
        }
    }

    fn link(&self, address: &str, parameters: &Pairs<'_>, page: Option<i64>) -> String {
        let page = page.map(|page| page.to_string());
        let mut link = [address, self.0.path()].concat();
        let mut separator = '?';
        let mut add = |name: &str, value: &str| {
            link.push(separator);
            separator = '&';
            link.extend(utf8_percent_encode(name, ENCODED));
            link.push('=');
            link.extend(utf8_percent_encode(value, ENCODED));
        };
        let mut said = false;
        for (name, value) in parameters {
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

/// The characters that are percent-encoded in the names and values of a link.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':').remove(b',');

/// Which items of a list are on a page, and whether more follow.
pub(crate) fn cut<T>(items: Vec<T>, paging: Paging) -> (Vec<T>, bool) {
    let skipped = paging.skipped().and_then(|skipped| usize::try_from(skipped).ok()).unwrap_or(usize::MAX);
    let limit = usize::try_from(paging.limit()).unwrap_or(usize::MAX);
    let more = items.len().saturating_sub(skipped) > limit;
    (items.into_iter().skip(skipped).take(limit).collect(), more)
}
