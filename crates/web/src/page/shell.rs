//! The frame of a service's pages, and their routes.

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::Path,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderValue, header};
use jiff::Timestamp;

use super::{Assets, add_page_headers};
use crate::{
    clock::Clock,
    problem::{Problem, Result},
};

/// The pages of a service.
#[derive(Clone)]
pub struct Pages {
    pub list: &'static [Page],
    pub assets: &'static Assets,
    pub sign_in: PageSignIn,
    /// Whether it is a demo, whose credentials are public.
    pub demo: bool,
}

/// A page: a template, which the frame of the instance completes.
pub struct Page {
    /// Its path; `/` is the start page. Others begin with `/app/`.
    pub path: &'static str,
    /// Its name in the navigation, if it is there.
    pub name: Option<&'static str>,
    pub render: fn(&Shell<'_>) -> askama::Result<String>,
}

/// How visitors of pages sign in.
#[derive(Clone)]
pub enum PageSignIn {
    /// With OAuth, as these clients of the service's own authorization server; without them, with a token of an external issuer.
    Oauth {
        /// The public client that acts for users.
        client: Option<&'static str>,
        /// The client of a demo that acts for itself; its secret is its id.
        guest: Option<&'static str>,
        scopes: String,
    },
    Basic,
}

/// What a template knows about the instance.
pub struct Shell<'a> {
    /// The service's name, `petstore`, and its name in words.
    pub service: &'a str,
    pub title: &'a str,
    pub about: &'a str,
    /// The public address.
    pub address: &'a str,
    /// The path in front of all paths, and where the API begins after it.
    pub path: &'a str,
    pub prefix: &'a str,
    /// The path of the files.
    pub assets: &'a str,
    pub sandbox: Option<&'a str>,
    pub pages: &'a Pages,
    /// The path of this page.
    pub current: &'static str,
    /// The time of the service, which may differ from that of the machine.
    pub now: Timestamp,
}

impl Shell<'_> {
    /// The word for the scripts.
    pub fn sign_in(&self) -> &'static str {
        match self.pages.sign_in {
            PageSignIn::Oauth { .. } => "oauth",
            PageSignIn::Basic => "basic",
        }
    }

    pub fn client(&self) -> Option<&str> {
        match self.pages.sign_in {
            PageSignIn::Oauth { client, .. } => client,
            PageSignIn::Basic => None,
        }
    }

    pub fn guest(&self) -> Option<&str> {
        match self.pages.sign_in {
            PageSignIn::Oauth { guest, .. } => guest,
            PageSignIn::Basic => None,
        }
    }

    pub fn scopes(&self) -> &str {
        match &self.pages.sign_in {
            PageSignIn::Oauth { scopes, .. } => scopes,
            PageSignIn::Basic => "",
        }
    }
}

/// The page to which the sign-in leads back.
#[derive(Template)]
#[template(path = "signed_in.html")]
struct SignedIn<'a> {
    shell: &'a Shell<'a>,
}

const SIGNED_IN: Page =
    Page { path: "/app/signed-in", name: None, render: |shell| SignedIn { shell }.render() };

/// What the pages of an instance share.
pub(crate) struct Site {
    pub(crate) service: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) address: String,
    pub(crate) path: Arc<str>,
    pub(crate) prefix: &'static str,
    pub(crate) clock: Clock,
}

/// Whether a path, without the prefix of the instance, is of a page for people or of its files.
pub fn is_of_a_page(path: &str) -> bool {
    let folders = ["app", "assets", "docs", "favicon.svg", "problems", ""];
    path.strip_prefix('/').is_some_and(|path| folders.contains(&path.split('/').next().unwrap_or_default()))
}

/// The routes of the pages and of their files.
pub(crate) fn routes(site: &Arc<Site>, pages: &Pages) -> Router {
    let assets = pages.assets;
    let mut router = Router::new().route(
        "/assets/{version}/{name}",
        get(async move |Path((version, name)): Path<(String, String)>| assets.answer(&version, &name)),
    );
    for page in pages.list.iter().chain([&SIGNED_IN]) {
        let (site, pages) = (site.clone(), pages.clone());
        router = router.route(page.path, get(async move || render(page, &site, &pages)));
    }
    router
}

fn render(page: &Page, site: &Site, pages: &Pages) -> Result<Response> {
    let shell = Shell {
        service: site.service,
        title: site.title,
        about: site.about,
        address: &site.address,
        path: &site.path,
        prefix: site.prefix,
        assets: &format!("{}{}", site.path, pages.assets.path()),
        sandbox: sandbox_of(&site.path),
        pages,
        current: page.path,
        now: site.clock.now(),
    };
    let mut response = (page.render)(&shell).map_err(Problem::internal)?.into_response();
    add_page_headers(response.headers_mut());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// The name of the sandbox in the path of an instance: `ada` of `/sandbox/ada`.
pub(crate) fn sandbox_of(path: &str) -> Option<&str> {
    let (_, name) = path.rsplit_once("/sandbox/")?;
    name.split('/').next()
}
