//! Clients: programs that ask for access, and where answers to them may be sent.

use db::Error;
use serde::Serialize;
use url::{Host, Url};
use web::Problem;

use super::{AuthorizationServer, store};
use crate::{
    account, secret,
    security::{Event, Origin, Outcome},
};

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
    /// What it may present at the token endpoint.
    #[serde(skip)]
    pub(super) grant_types: Vec<GrantType>,
    /// The resource that it serves, if any: it may look at the tokens for that.
    #[serde(skip)]
    pub(super) resource: Option<String>,
}

/// What becomes an access token at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrantType {
    AuthorizationCode,
    RefreshToken,
    ClientCredentials,
}

impl GrantType {
    pub(super) const WORDS: &[(&'static str, GrantType)] = &[
        ("authorization_code", GrantType::AuthorizationCode),
        ("refresh_token", GrantType::RefreshToken),
        ("client_credentials", GrantType::ClientCredentials),
    ];

    pub(super) fn word(self) -> &'static str {
        GrantType::WORDS.iter().find(|(_, grant_type)| *grant_type == self).map_or("", |(word, _)| word)
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        GrantType::WORDS.iter().find(|(known, _)| *known == word).map(|(_, grant_type)| *grant_type)
    }
}

/// The demo's own client.
const DEMO: &str = "demo";

/// A client to be registered.
#[derive(Debug, Clone)]
pub struct NewClient {
    pub name: String,
    pub redirect_uris: Vec<String>,
    /// The scopes it may ask for; all of them if none is named.
    pub scopes: Vec<String>,
    /// Whether it can keep a secret.
    pub confidential: bool,
}

/// Why a client is not registered: one line for a person.
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
        self.demo && self.id != DEMO
    }

    pub(super) fn is_confidential(&self) -> bool {
        self.secret_hash.is_some()
    }

    /// Whether answers may be sent to this address: it is registered to the letter, but for the port of an address on
    /// the client's own machine, where a native program gets another one each time (RFC 8252).
    pub(super) fn may_return_to(&self, address: &str) -> bool {
        self.redirect_uris.iter().any(|known| {
            known == address
                || without_port(known).is_some_and(|known| without_port(address).as_ref() == Some(&known))
        })
    }
}

/// A loopback address without its port. `None` for others, and for ones not written the way a browser would: those are
/// read differently by different programs.
fn without_port(address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok()?;
    let plain = url.as_str() == address && url.scheme() == "http" && is_loopback(&url);
    url.set_port(None).ok()?;
    plain.then_some(url)
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn check_redirect(address: &str) -> Result<(), &'static str> {
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
        // An application's own scheme is a domain of its maker's, back to front.
        scheme if scheme.contains('.') => Ok(()),
        _ => Err("its scheme must be https, or a reversed domain name such as com.example.app"),
    }
}

impl AuthorizationServer {
    /// Registers a client for its operator, and tells its secret, once, if it can keep one. With an address to return to it
    /// may act for people, with a secret for itself.
    pub async fn add_client(&self, new: NewClient) -> Result<(Client, Option<String>), ClientError> {
        let for_people = !new.redirect_uris.is_empty() || !new.confidential;
        let all = GrantType::WORDS.iter().map(|(_, grant_type)| *grant_type);
        let grant_types = all.filter(|grant_type| match grant_type {
            GrantType::ClientCredentials => new.confidential,
            _ => for_people,
        });
        self.add_client_for(grant_types.collect(), None, false, new).await
    }

    /// Registers a client that serves one of this server's resources: with its secret it may look at the tokens for that
    /// resource, and do nothing else.
    pub async fn add_resource_server(
        &self,
        name: &str,
        resource: &str,
    ) -> Result<(Client, Option<String>), ClientError> {
        if !self.0.settings.audiences().iter().any(|known| known == resource) {
            return Err(ClientError::Resource(resource.to_owned()));
        }
        let new = NewClient {
            name: name.to_owned(),
            redirect_uris: Vec::new(),
            scopes: Vec::new(),
            confidential: true,
        };
        self.add_client_for(Vec::new(), Some(resource.to_owned()), false, new).await
    }

    pub(super) async fn add_client_for(
        &self,
        grant_types: Vec<GrantType>,
        resource: Option<String>,
        demo: bool,
        new: NewClient,
    ) -> Result<(Client, Option<String>), ClientError> {
        let unseen = |c: char| c.is_control() || account::is_invisible(c);
        if !(1..=100).contains(&new.name.chars().count()) || new.name.contains(unseen) {
            return Err(ClientError::Name);
        }
        let needs_address = grant_types.contains(&GrantType::AuthorizationCode);
        if new.redirect_uris.len() > 10 || (new.redirect_uris.is_empty() && needs_address) {
            return Err(ClientError::NoRedirect);
        }
        for address in &new.redirect_uris {
            check_redirect(address).map_err(|why| ClientError::Redirect(address.clone(), why))?;
        }
        let known: Vec<_> = self.0.settings.scopes.iter().map(|scope| scope.name.to_owned()).collect();
        if let Some(unknown) = new.scopes.iter().find(|scope| !known.contains(scope)) {
            return Err(ClientError::Scope(unknown.clone()));
        }
        let secret = new.confidential.then(|| secret::new(&self.0.chance));
        let client = Client {
            id: self.0.chance.code(20),
            name: new.name,
            secret_hash: secret.as_deref().map(secret::hash),
            redirect_uris: new.redirect_uris,
            scopes: if new.scopes.is_empty() { known } else { new.scopes },
            demo,
            grant_types,
            resource,
        };
        self.insert_client(client.clone()).await?;
        Ok((client, secret))
    }

    /// Removes a client and all it was ever allowed; `false` when there is none of this id.
    pub async fn remove_client(&self, id: &str) -> Result<bool, Error> {
        let client = id.to_owned();
        let removed = self.0.db.write(move |tx| store::delete_client(tx, &client)).await?;
        if removed {
            Origin::default().log(Event::ClientRemoval, Outcome::Ok, None, Some(id));
        }
        Ok(removed)
    }

    pub(super) async fn add_demo_client(&self) -> Result<(), Error> {
        let settings = &self.0.settings;
        let client = Client {
            id: DEMO.into(),
            name: "Demo".into(),
            secret_hash: None,
            redirect_uris: vec![
                "http://127.0.0.1/callback".into(),
                "http://localhost/callback".into(),
                format!("{}/docs/oauth2-redirect.html", settings.issuer),
            ],
            scopes: settings.scopes.iter().map(|scope| scope.name.to_owned()).collect(),
            demo: true,
            grant_types: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
            resource: None,
        };
        self.insert_client(client).await
    }

    /// The client to which `triptych token` gives its tokens. Nobody can be sent back to it, so it is of no use to others.
    pub(super) async fn command_line_client(&self) -> Result<Client, Error> {
        let client = Client {
            id: "triptych".into(),
            name: "The command line".into(),
            secret_hash: None,
            redirect_uris: Vec::new(),
            scopes: self.0.settings.scopes.iter().map(|scope| scope.name.to_owned()).collect(),
            demo: false,
            grant_types: Vec::new(),
            resource: None,
        };
        self.insert_client(client.clone()).await?;
        Ok(client)
    }

    async fn insert_client(&self, client: Client) -> Result<(), Error> {
        let now = self.0.clock.now();
        self.0.db.write(move |tx| store::insert_client(tx, &client, now)).await
    }

    /// The client of this id, if it can be used now.
    pub(super) async fn client(&self, id: &str) -> Result<Option<Client>, Problem> {
        // Ids that nobody was given need not be looked for.
        if id.is_empty() || id.len() > 64 {
            return Ok(None);
        }
        let id = id.to_owned();
        let found = self.0.db.read(move |tx| store::client_by_id(tx, &id)).await?;
        Ok(found.filter(|client| !client.demo || self.0.settings.demo))
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
    fn answers_go_to_registered_addresses_only() {
        let native =
            client(&["http://127.0.0.1/callback", "http://localhost/callback", "http://[::1]/cb?x=1"]);
        for fine in [
            "http://127.0.0.1/callback",
            "http://127.0.0.1:5555/callback",
            "http://localhost:1/callback",
            "http://[::1]:9000/cb?x=1",
        ] {
            assert!(native.may_return_to(fine), "{fine}");
        }
        let web = client(&["https://app.example.com/callback"]);
        assert!(web.may_return_to("https://app.example.com/callback"));
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
            assert!(!client.may_return_to(near_miss), "{near_miss}");
        }
    }

    #[test]
    fn addresses_that_can_be_registered() {
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
