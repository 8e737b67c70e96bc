//! The pages of the store. Their scripts are in `assets`, and call the API.

use std::sync::LazyLock;

use askama::Template;
use web::page::{Assets, Page, Shell};

/// The files of the pages.
pub(crate) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    Assets::new(&[
        ("petstore.css", include_bytes!("../assets/petstore.css")),
        ("pets.js", include_bytes!("../assets/pets.js")),
    ])
});

pub(crate) const PAGES: &[Page] =
    &[Page { path: "/", name: Some("Pets"), render: |shell| Pets { shell }.render() }];

#[derive(Template)]
#[template(path = "pets.html")]
struct Pets<'a> {
    shell: &'a Shell<'a>,
}
