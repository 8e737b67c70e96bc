//! The pages of the museum. Their scripts are in `assets`, and call the API.

use std::sync::LazyLock;

use askama::Template;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use uuid::Uuid;
use web::page::{Assets, Page, Shell};

use crate::{Museum, admission::proof::Code};

/// The files of the pages.
pub(crate) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    Assets::new(&[
        ("museum.css", include_bytes!("../assets/museum.css")),
        ("buy.js", include_bytes!("../assets/buy.js")),
        ("calendar.js", include_bytes!("../assets/calendar.js")),
        ("check.js", include_bytes!("../assets/check.js")),
        ("code.js", include_bytes!("../assets/code.js")),
        ("days.js", include_bytes!("../assets/days.js")),
        ("editor.js", include_bytes!("../assets/editor.js")),
        ("event.js", include_bytes!("../assets/event.js")),
        ("events.js", include_bytes!("../assets/events.js")),
        ("kept.js", include_bytes!("../assets/kept.js")),
        ("museum.js", include_bytes!("../assets/museum.js")),
        ("qr.js", include_bytes!("../assets/qr.js")),
        ("qr-bits.js", include_bytes!("../assets/qr-bits.js")),
        ("sell.js", include_bytes!("../assets/sell.js")),
        ("ticket.js", include_bytes!("../assets/ticket.js")),
        ("tickets.js", include_bytes!("../assets/tickets.js")),
        ("visit.js", include_bytes!("../assets/visit.js")),
    ])
});

/// The path of the page where tickets are checked.
const CHECK: &str = "/app/check";

/// What is escaped in the query of a link.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-');

pub(crate) const PAGES: &[Page] = &[
    Page { path: "/", name: Some("Visit"), render: |shell| Visit { shell }.render() },
    Page { path: "/app/events", name: Some("Events"), render: |shell| Events { shell }.render() },
    Page { path: "/app/event", name: None, render: |shell| Event { shell }.render() },
    Page { path: "/app/buy", name: None, render: |shell| Buy { shell }.render() },
    Page { path: "/app/tickets", name: Some("Tickets"), render: |shell| Tickets { shell }.render() },
    Page { path: "/app/ticket", name: None, render: |shell| Ticket { shell }.render() },
    Page { path: CHECK, name: Some("Check"), render: |shell| Check { shell }.render() },
];

impl Museum {
    /// Where a person checks a ticket.
    pub(crate) fn check_page(&self, ticket: Uuid, Code { code }: Code) -> String {
        let code = code.unwrap_or_default();
        let code = utf8_percent_encode(&code, ESCAPED);
        format!("{}{CHECK}?id={ticket}&code={code}", self.address)
    }
}

#[derive(Template)]
#[template(path = "visit.html")]
struct Visit<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "events.html")]
struct Events<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "event.html")]
struct Event<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "buy.html")]
struct Buy<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "tickets.html")]
struct Tickets<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "ticket.html")]
struct Ticket<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "check.html")]
struct Check<'a> {
    shell: &'a Shell<'a>,
}
