//! Scopes: what a client can be allowed to do.

/// A scope of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    pub name: &'static str,
    /// What it allows, as the consent page says it: "see your pets".
    pub words: &'static str,
}
