//! Clients: programs that ask for access, and the addresses to which responses may be sent.

use db::Error;
use model::Words;
use serde::Serialize;
use url::Url;

use crate::oauth::loopback::is_loopback;

/// A registered client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Client {
    pub id: String,
    pub name: String,
    #[serde(skip)]
    pub(super) secret_hash: Option<Vec<u8>>,
    pub redirect_uris: Vec<String>,
    pub scopes: Vec<String>,
    #[serde(skip)]
    pub(super) demo: bool,
    /// The grant types that it may use.
    #[serde(skip)]
    pub(super) grant_types: Vec<GrantType>,
    /// The resource that it serves, if any: it may introspect the tokens for that.
    #[serde(skip)]
    pub(super) resource: Option<String>,
}

/// What a client exchanges for an access token at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub(super) enum GrantType {
    AuthorizationCode,
    RefreshToken,
    ClientCredentials,
}

/// How a client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub(super) enum AuthMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

/// The id of the demo client, which acts for users.
pub const DEMO: &str = "demo";

/// The id of the other client of a demo, which acts for itself. It is also its secret.
pub const GUEST: &str = "guest";

/// The id of the client of the service's own pages. They need no consent: they are part of the service.
pub const PAGES: &str = "pages";

/// A client to be registered.
#[derive(Debug, Clone)]
pub struct NewClient {
    pub name: String,
    pub redirect_uris: Vec<String>,
    /// The scopes it may ask for; all of them if none is named.
    pub scopes: Vec<String>,
    /// Whether it gets a secret.
    pub confidential: bool,
}

/// Why a client is not registered, in one line.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("a client's name must have 1 to 100 characters, all of which can be seen")]
    Name,
    #[error(
        "a client that acts for people must have at least one redirect address, and no client more than ten"
    )]
    NoRedirect,
    #[error("{0:?} cannot be a redirect address: {1}")]
    Redirect(String, &'static str),
    #[error("there is no resource {0:?} here")]
    Resource(String),
    #[error("there is no scope {0:?}")]
    Scope(String),
    #[error(transparent)]
    Db(#[from] Error),
}

impl Client {
    pub(super) fn may(&self, grant_type: GrantType) -> bool {
        self.grant_types.contains(&grant_type)
    }

    /// Whether the client registered itself: in a demo, any program may register.
    pub(super) fn registered_openly(&self) -> bool {
        self.demo && self.id != DEMO && self.id != GUEST
    }

    /// Whether it is the client of the service's own pages.
    pub(super) fn is_of_pages(&self) -> bool {
        self.id == PAGES
    }

    pub(super) fn is_confidential(&self) -> bool {
        self.secret_hash.is_some()
    }

    /// Whether responses may be sent to this address: it matches a registered one exactly, except for the port of a loopback
    /// address, where a native program listens on another one each time (RFC 8252).
    pub(super) fn may_redirect_to(&self, address: &str) -> bool {
        self.redirect_uris.iter().any(|known| {
            known == address
                || without_port(known).is_some_and(|known| without_port(address).as_ref() == Some(&known))
        })
    }
}

/// A loopback address without its port. `None` for other addresses, and for those that a browser would write differently:
/// programs disagree on their meaning.
fn without_port(address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok()?;
    let plain = url.as_str() == address && url.scheme() == "http" && is_loopback(&url);
    url.set_port(None).ok()?;
    plain.then_some(url)
}

pub(super) fn check_redirect(address: &str) -> Result<(), &'static str> {
    let Ok(url) = Url::parse(address) else { return Err("it is not a complete address") };
    if address.contains('#') {
        return Err("it has a fragment");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it has a user name");
    }
    if url.as_str() != address {
        return Err("it is not written the way a browser would");
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(&url) => Ok(()),
        "http" => Err("without https it must be an address of this machine"),
        // A private-use scheme is a reversed domain name (RFC 8252, 7.1).
        scheme if scheme.contains('.') => Ok(()),
        _ => Err("its scheme must be https, or a reversed domain name such as com.example.app"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(redirect_uris: &[&str]) -> Client {
        Client {
            id: "id".into(),
            name: "name".into(),
            secret_hash: None,
            redirect_uris: redirect_uris.iter().map(|&uri| uri.to_owned()).collect(),
            scopes: Vec::new(),
            demo: false,
            grant_types: Vec::new(),
            resource: None,
        }
    }

    #[test]
    fn redirect_goes_only_to_registered_addresses() {
        let native =
            client(&["http://127.0.0.1/callback", "http://localhost/callback", "http://[::1]/cb?x=1"]);
        for fine in [
            "http://127.0.0.1/callback",
            "http://127.0.0.1:5555/callback",
            "http://localhost:1/callback",
            "http://[::1]:9000/cb?x=1",
        ] {
            assert!(native.may_redirect_to(fine), "{fine}");
        }
        let web = client(&["https://app.example.com/callback"]);
        assert!(web.may_redirect_to("https://app.example.com/callback"));
        for (client, near_miss) in [
            (&native, "http://127.0.0.1:5555/callback/"),
            (&native, "http://127.0.0.1:5555/Callback"),
            (&native, "http://127.0.0.1:5555/callback?x=1"),
            (&native, "http://127.0.0.1:5555/callback#x"),
            (&native, "http://me@127.0.0.1:5555/callback"),
            (&native, "http://127.0.0.1:5555/a/../callback"),
            (&native, "http://127.0.0.1.example.com:5555/callback"),
            (&native, "http://127.1:5555/callback"),
            (&native, "http://2130706433:5555/callback"),
            (&native, "http://LOCALHOST:5555/callback"),
            (&native, "https://127.0.0.1:5555/callback"),
            (&native, "http://127.0.0.2:5555/callback"),
            (&native, "http://127.0.0.1:99999/callback"),
            (&native, "http:/127.0.0.1:5555/callback"),
            (&web, "https://app.example.com:8443/callback"),
            (&web, "https://app.example.com/callback/"),
            (&web, "https://app.example.com/callback/more"),
            (&web, "https://app.example.com/callback?"),
            (&web, "https://app.example.com/callback#"),
            (&web, "https://APP.example.com/callback"),
            (&web, "https://app.example.com./callback"),
            (&web, "https://app.example.com@evil.example/callback"),
            (&web, "https://evil.example/https://app.example.com/callback"),
            (&web, "http://app.example.com/callback"),
            (&web, " https://app.example.com/callback"),
            (&web, ""),
        ] {
            assert!(!client.may_redirect_to(near_miss), "{near_miss}");
        }
    }

    #[test]
    fn unsafe_redirect_addresses_are_rejected() {
        for fine in [
            "https://app.example.com/cb",
            "http://127.0.0.1/cb",
            "http://localhost:3000/cb",
            "com.example.app:/cb",
        ] {
            assert_eq!(check_redirect(fine), Ok(()), "{fine}");
        }
        for bad in [
            "http://app.example.com/cb",
            "https://app.example.com/cb#x",
            "https://me:secret@app.example.com/cb",
            "https://App.example.com/cb",
            "javascript:alert(1)",
            "data:text/html,x",
            "/cb",
            "",
        ] {
            assert!(check_redirect(bad).is_err(), "{bad}");
        }
    }
}
