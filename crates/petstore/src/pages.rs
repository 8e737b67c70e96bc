//! The pages of the store. Their scripts are in `assets`, and call the API.

use std::sync::LazyLock;

use askama::Template;
use web::page::{Assets, Page, Shell};

use crate::demo;

/// The files of the pages.
pub(crate) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    Assets::new(&[
        ("petstore.css", include_bytes!("../assets/petstore.css")),
        ("account.js", include_bytes!("../assets/account.js")),
        ("inventory.js", include_bytes!("../assets/inventory.js")),
        ("order.js", include_bytes!("../assets/order.js")),
        ("orders.js", include_bytes!("../assets/orders.js")),
        ("pet.js", include_bytes!("../assets/pet.js")),
        ("pet-form.js", include_bytes!("../assets/pet-form.js")),
        ("pets.js", include_bytes!("../assets/pets.js")),
        ("photos.js", include_bytes!("../assets/photos.js")),
        ("store.js", include_bytes!("../assets/store.js")),
        ("xml.js", include_bytes!("../assets/xml.js")),
    ])
});

pub(crate) const PAGES: &[Page] = &[
    Page { path: "/", name: Some("Pets"), render: |shell| Pets { shell }.render() },
    Page { path: "/app/pet", name: None, render: |shell| Pet { shell }.render() },
    Page { path: "/app/orders", name: Some("Orders"), render: |shell| Orders { shell }.render() },
    Page { path: "/app/account", name: Some("Account"), render: |shell| Account { shell }.render() },
];

#[derive(Template)]
#[template(path = "pets.html")]
struct Pets<'a> {
    shell: &'a Shell<'a>,
}

impl Pets<'_> {
    /// The API key of a demo, which is public: the inventory needs one.
    fn api_key(&self) -> Option<&'static str> {
        self.shell.pages.demo.then_some(demo::API_KEY)
    }
}

#[derive(Template)]
#[template(path = "pet.html")]
struct Pet<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "orders.html")]
struct Orders<'a> {
    shell: &'a Shell<'a>,
}

#[derive(Template)]
#[template(path = "account.html")]
struct Account<'a> {
    shell: &'a Shell<'a>,
}
