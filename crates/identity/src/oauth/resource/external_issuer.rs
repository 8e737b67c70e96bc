//! An external issuer: its settings, and whether they can be right.

use super::discovery::check_address;

/// The external issuer of a service's access tokens.
#[derive(Debug, Clone)]
pub struct ExternalIssuer {
    /// The service's name in words.
    pub service: &'static str,
    /// The service's own address, without a slash at the end: where clients find its metadata.
    pub resource: String,
    /// The issuer, exactly as the `iss` claim of its tokens.
    pub url: String,
    /// The `aud` claim of its tokens for this service.
    pub audience: String,
    /// The `typ` headers of its access tokens: `at+jwt`, or what it sends instead. With `JWT` an identity token for the same
    /// audience cannot be distinguished from an access token.
    pub types: Vec<String>,
    /// The claim with the scopes: `scope`, `scp`.
    pub scope_claim: String,
}

/// Why the settings of an issuer cannot be right.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    #[error("the issuer {0:?} {1}")]
    Address(String, &'static str),
    #[error("the issuer's {0} must not be empty")]
    Empty(&'static str),
    #[error("cannot make connections to an issuer: {0}")]
    Http(String),
}

impl ExternalIssuer {
    pub(super) fn check(&self) -> Result<(), IssuerError> {
        let wrong = |why| IssuerError::Address(self.url.clone(), why);
        let url = check_address(&self.url).map_err(wrong)?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("has a query or a fragment"));
        }
        let empty = [
            ("audience", self.audience.is_empty()),
            ("token types", self.types.is_empty() || self.types.iter().any(String::is_empty)),
            ("scope claim", self.scope_claim.is_empty()),
        ];
        match empty.into_iter().find(|(_, empty)| *empty) {
            Some((what, _)) => Err(IssuerError::Empty(what)),
            None => Ok(()),
        }
    }
}
