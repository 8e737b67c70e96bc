//! Sign-in through OAuth: the service's own authorization server, or an external issuer.

use axum::Router;
use identity::{
    Accounts,
    oauth::{self, Signer, TokenIssuer, TokenIssuerError, Verifier},
};
use utoipa::openapi::OpenApi;
use web::{DocumentationSetup, IssuedBy, page::PageSignIn};

use crate::{Description, Instance, OauthSettings};

/// The sign-in of one instance.
pub struct SignIn {
    pub verifier: Verifier,
    /// Signs messages to other services.
    pub signer: Signer,
    /// The routes of the authorization server.
    pub router: Router,
    /// How the documentation page signs users in.
    pub documentation: DocumentationSetup,
    /// How visitors of the service's pages sign in.
    pub pages: PageSignIn,
    issued_by: Option<IssuedBy>,
}

impl Description {
    /// Opens the sign-in of an instance.
    pub async fn open_sign_in(
        &self,
        settings: &OauthSettings,
        accounts: &Accounts,
        instance: &Instance,
    ) -> Result<SignIn, TokenIssuerError> {
        let external = settings.external_issuer();
        let server = self.server_settings(instance, settings.registration_token());
        let own = external.is_none();
        let documentation = DocumentationSetup {
            client: own.then_some(oauth::PAGES_CLIENT),
            scopes: server.scopes.iter().map(|scope| scope.name.into()).collect(),
            ..DocumentationSetup::default()
        };
        let pages = PageSignIn::Oauth {
            client: own.then_some(oauth::PAGES_CLIENT),
            guest: (own && instance.demo).then_some(oauth::GUEST_CLIENT),
            scopes: server.scopes.iter().map(|scope| scope.name).collect::<Vec<_>>().join(" "),
        };
        let Instance { db, clock, random, .. } = instance.clone();
        let issuer = TokenIssuer::open(server, external, accounts.clone(), db, clock, random).await?;
        let TokenIssuer { verifier, router, issued_by, signer } = issuer;
        Ok(SignIn { verifier, signer, router, documentation, pages, issued_by })
    }
}

impl SignIn {
    /// Names the external issuer in the OpenAPI document, if there is one.
    pub fn describe(&self, service: &Description, document: &mut OpenApi) {
        if let (Some(issued_by), Some(oauth)) = (&self.issued_by, &service.oauth) {
            issued_by.write(document, oauth.scheme);
        }
    }
}
