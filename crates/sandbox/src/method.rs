//! The methods of HTTP, as rules and filters name them.

use db::Word;
use model::Words;

/// A method of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[words(name = "HttpMethod")]
pub enum Method {
    #[words(word = "GET")]
    Get,
    #[words(word = "HEAD")]
    Head,
    #[words(word = "POST")]
    Post,
    #[words(word = "PUT")]
    Put,
    #[words(word = "PATCH")]
    Patch,
    #[words(word = "DELETE")]
    Delete,
    #[words(word = "OPTIONS")]
    Options,
}

impl Method {
    pub(crate) fn is(self, method: &http::Method) -> bool {
        self.word() == method.as_str()
    }
}
