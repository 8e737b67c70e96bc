//! Pages for people: the frame that all share, their files, their headers.
//!
//! A page is a template of its service that extends `page.html`. Its script calls the public API with the visitor's credentials.

mod assets;
mod headers;
mod marks;
mod shell;

pub use assets::{Asset, Assets};
pub use headers::add_page_headers;
pub(crate) use headers::{add_document_headers, document_style};
pub use marks::mark;
pub use shell::{Page, PageSignIn, Pages, Shell, is_of_a_page};
pub(crate) use shell::{Site, routes, sandbox_of};

/// The colours and the type of every page, as a style sheet.
pub const TOKENS: &str = include_str!("../../assets/tokens.css");

/// What a page of text knows about the service.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    /// The service's name.
    pub(crate) service: &'a str,
    /// The path in front of its paths.
    pub(crate) path: &'a str,
}
