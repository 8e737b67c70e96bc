//! `triptych token` and `triptych client …`: access through OAuth, without a browser.

use identity::{
    Accounts, DEMO_USER,
    oauth::{self, AuthorizationServer, NewClient},
};

use crate::{Failure, cli::ClientAction, open::open_existing, print, settings::Settings};

pub(crate) fn print_token(
    service: &str,
    user: Option<&str>,
    scope: Option<&str>,
    settings: &Settings,
) -> Result<(), Failure> {
    let user = match user {
        Some(user) => user,
        None if settings.demo() => DEMO_USER,
        None => return Err("name the user of the token, with --user".into()),
    };
    block_on(async {
        let (server, accounts) = open(service, settings).await?;
        let token = token(&server, &accounts, user, scope).await?;
        print(&format!("{token}\n"))
    })
}

/// An access token of a user.
pub(crate) async fn token(
    server: &AuthorizationServer,
    accounts: &Accounts,
    user: &str,
    scope: Option<&str>,
) -> Result<String, Failure> {
    let account = accounts.find(user).await?.ok_or_else(|| format!("there is no user {user:?}"))?;
    Ok(server.token_for(account, scope).await?)
}

pub(crate) fn client(action: ClientAction, settings: &Settings) -> Result<(), Failure> {
    match action {
        ClientAction::Add { service, name, redirects, scope, confidential, resource } => {
            let scopes = scope.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect();
            let new = NewClient { name, redirect_uris: redirects, scopes, confidential };
            block_on(async {
                let (server, _) = open(&service, settings).await?;
                let (client, secret) = match resource {
                    Some(resource) => server.add_resource_server(&new.name, &resource).await?,
                    None => server.add_client(new).await?,
                };
                let secret = secret.map(|secret| format!("client_secret: {secret}\n")).unwrap_or_default();
                print(&format!("client_id: {}\n{secret}", client.id))
            })
        }
        ClientAction::Remove { service, id } => block_on(async {
            let (server, _) = open(&service, settings).await?;
            match server.remove_client(&id).await? {
                true => print(&format!("{id}: removed\n")),
                false => Err(format!("there is no client {id:?}").into()),
            }
        }),
    }
}

fn block_on(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// A service's authorization server and accounts, on the database that a running service may be using too.
async fn open(service: &str, settings: &Settings) -> Result<(AuthorizationServer, Accounts), Failure> {
    let service = settings.service(service)?;
    if let Some(issuer) = service.oauth().and_then(|oauth| oauth.external_issuer()) {
        return Err(format!("the tokens of this service come from {}; ask there", issuer.url).into());
    }
    let instance = open_existing(service, settings).await?;
    let address = match service.address() {
        "" => oauth::last_address(&instance.db).await?,
        address => Some(address.to_owned()),
    };
    let default = || service.instance_address(settings.scheme(), service.listen());
    let instance = instance.at(address.unwrap_or_else(default));
    let description = service.description();
    Ok((description.authorization_server(&instance).await?, description.accounts(&instance)?))
}
