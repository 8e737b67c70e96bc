//! The pages of the service. Their scripts are in `assets`, and call the API.

use std::sync::LazyLock;

use askama::Template;
use web::page::{Assets, Page, Shell};

/// The files of the pages.
pub(crate) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    Assets::new(&[
        ("train.css", include_bytes!("../assets/train.css")),
        ("booking.js", include_bytes!("../assets/booking.js")),
        ("bookings.js", include_bytes!("../assets/bookings.js")),
        ("cards.js", include_bytes!("../assets/cards.js")),
        ("europe.js", include_bytes!("../assets/europe.js")),
        ("inbox.js", include_bytes!("../assets/inbox.js")),
        ("journey.js", include_bytes!("../assets/journey.js")),
        ("map.js", include_bytes!("../assets/map.js")),
        ("signature.js", include_bytes!("../assets/signature.js")),
        ("stations.js", include_bytes!("../assets/stations.js")),
        ("station-field.js", include_bytes!("../assets/station-field.js")),
        ("trip.js", include_bytes!("../assets/trip.js")),
        ("webhooks.js", include_bytes!("../assets/webhooks.js")),
    ])
});

pub(crate) const PAGES: &[Page] = &[
    Page { path: "/", name: Some("Journey"), render: |shell| Journey { shell }.render() },
    Page { path: "/app/bookings", name: Some("My bookings"), render: |shell| Bookings { shell }.render() },
    Page { path: "/app/booking", name: None, render: |shell| Booking { shell }.render() },
    Page { path: "/app/webhooks", name: Some("My webhooks"), render: |shell| Webhooks { shell }.render() },
];

#[derive(Template)]
#[template(path = "journey.html")]
struct Journey<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "bookings.html")]
struct Bookings<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "booking.html")]
struct Booking<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "webhooks.html")]
struct Webhooks<'a> {
    shell: &'a Shell<'a>,
}
