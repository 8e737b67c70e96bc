//! Adding, finding and removing clients.

use db::{Error, Word, WriteTx};
use web::Problem;

use super::{
    client::{Client, ClientError, DEMO, GUEST, GrantType, NewClient, PAGES, check_redirect},
    state::AuthorizationServer,
    store,
};
use crate::{account, secret};

impl AuthorizationServer {
    /// Registers a client by command of the operator, and returns its secret if it is confidential. With a redirect address
    /// the client may act for users, with a secret for itself.
    pub async fn add_client(&self, new: NewClient) -> Result<(Client, Option<String>), ClientError> {
        let for_users = !new.redirect_uris.is_empty() || !new.confidential;
        let all = <GrantType as Word>::WORDS.iter().map(|(_, grant_type)| *grant_type);
        let grant_types = all.filter(|grant_type| match grant_type {
            GrantType::ClientCredentials => new.confidential,
            _ => for_users,
        });
        self.add_client_for(grant_types.collect(), None, false, new).await
    }

    /// Registers a client that serves one of this server's resources: it may introspect the tokens for that resource, and do
    /// nothing else.
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
        let secret = new.confidential.then(|| secret::new(&self.0.random));
        let client = Client {
            id: self.0.random.code(20),
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

    /// Removes a client and its grants; `false` when there is none of this id.
    pub async fn remove_client(&self, id: &str) -> Result<bool, Error> {
        let client = id.to_owned();
        self.0.db.write(move |tx| store::delete_client(tx, &client)).await
    }

    /// Adds the clients that a server has from the start: that of its pages and, in a demo, those of the demo.
    pub(super) async fn add_own_clients(&self) -> Result<(), Error> {
        let settings = &self.0.settings;
        let pages = Client {
            id: PAGES.into(),
            name: settings.service.into(),
            secret_hash: None,
            redirect_uris: vec![
                format!("{}/app/signed-in", settings.issuer),
                format!("{}/docs/signed-in", settings.issuer),
            ],
            scopes: settings.scopes.iter().map(|scope| scope.name.to_owned()).collect(),
            demo: false,
            grant_types: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
            resource: None,
        };
        let mut clients = vec![pages.clone()];
        if settings.demo {
            let demo = Client {
                id: DEMO.into(),
                name: "Demo".into(),
                redirect_uris: vec!["http://127.0.0.1/callback".into(), "http://localhost/callback".into()],
                demo: true,
                ..pages
            };
            let guest = Client {
                id: GUEST.into(),
                name: "Guest".into(),
                secret_hash: Some(secret::hash(GUEST)),
                redirect_uris: Vec::new(),
                grant_types: vec![GrantType::ClientCredentials],
                ..demo.clone()
            };
            clients.extend([demo, guest]);
        }
        let now = self.0.clock.now();
        let insert = move |tx: &mut WriteTx<'_>| {
            clients.iter().try_for_each(|client| store::insert_client(tx, client, now))
        };
        self.0.db.write(insert).await
    }

    /// The client of the tokens that `triptych token` prints. It has no redirect address and no grant types, so no other
    /// program can use it.
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
        // No client has such an id.
        if id.is_empty() || id.len() > 64 {
            return Ok(None);
        }
        let id = id.to_owned();
        let found = self.0.db.read(move |tx| store::client_by_id(tx, &id)).await?;
        Ok(found.filter(|client| !client.demo || self.0.settings.demo))
    }
}
