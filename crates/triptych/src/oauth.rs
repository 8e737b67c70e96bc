//! `triptych token` and `triptych client …`: access through OAuth, without a browser.

use identity::{
    Accounts,
    oauth::{self, AuthorizationServer, NewClient},
};
use web::{Clock, Random};

use crate::{
    Failure,
    cli::{ClientAction, OauthServiceName},
    print, serve,
    settings::Settings,
};

/// Whose token it is, in a demo, if nobody is named.
const DEMO_USER: &str = "demo";

pub(crate) fn print_token(
    service: OauthServiceName,
    user: Option<&str>,
    scope: Option<&str>,
    settings: &Settings,
) -> Result<(), Failure> {
    let user = match user {
        Some(user) => user,
        None if settings.demo() => DEMO_USER,
        None => return Err("say whose token it is to be, with --user".into()),
    };
    block_on(async {
        let (server, accounts) = open(service, settings).await?;
        let account = accounts.find(user).await?.ok_or_else(|| format!("there is no user {user:?}"))?;
        let token = server.token_for(account, scope).await?;
        print(&format!("{token}\n"))
    })
}

pub(crate) fn client(action: ClientAction, settings: &Settings) -> Result<(), Failure> {
    match action {
        ClientAction::Add { service, name, redirects, scope, confidential, resource } => {
            let scopes = scope.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect();
            let new = NewClient { name, redirect_uris: redirects, scopes, confidential };
            block_on(async {
                let (server, _) = open(service, settings).await?;
                let (client, secret) = match resource {
                    Some(resource) => server.add_resource_server(&new.name, &resource).await?,
                    None => server.add_client(new).await?,
                };
                let secret = secret.map(|secret| format!("client_secret: {secret}\n")).unwrap_or_default();
                print(&format!("client_id: {}\n{secret}", client.id))
            })
        }
        ClientAction::Remove { service, id } => block_on(async {
            let (server, _) = open(service, settings).await?;
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
async fn open(
    service: OauthServiceName,
    settings: &Settings,
) -> Result<(AuthorizationServer, Accounts), Failure> {
    let (clock, random, demo) = (Clock::system(), Random::system(), settings.demo());
    let (name, migrations, said, own, issuer) = match service {
        OauthServiceName::Petstore => {
            let own = settings.petstore(settings.petstore.listen);
            ("petstore", petstore::MIGRATIONS, &settings.petstore.address, own.address, own.issuer)
        }
        OauthServiceName::Train => {
            let own = settings.train(settings.train.listen);
            ("train", train::MIGRATIONS, &settings.train.address, own.address, own.issuer)
        }
    };
    if let Some(issuer) = issuer {
        return Err(format!("the tokens of this service come from {}; ask there", issuer.url).into());
    }
    let db = serve::open_existing(name, migrations, settings).await?;
    let address = match said.as_str() {
        "" => oauth::last_address(&db).await?.unwrap_or(own),
        said => said.to_owned(),
    };
    Ok(match service {
        OauthServiceName::Petstore => (
            petstore::authorization_server(address, demo, db.clone(), clock.clone(), random.clone()).await?,
            petstore::accounts(db, demo, clock, random)?,
        ),
        OauthServiceName::Train => (
            train::authorization_server(address, demo, db.clone(), clock.clone(), random.clone()).await?,
            train::accounts(db, demo, clock, random)?,
        ),
    })
}
