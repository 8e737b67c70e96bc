//! `triptych user …`: who can sign in to a service.

use std::io::{BufRead, IsTerminal, stdin};

use db::Db;
use identity::{Accounts, ChangeError};
use secrecy::SecretString;
use web::{Clock, Random};

use crate::{
    Failure,
    cli::{ServiceName, UserAction, UserArguments},
    print, serve,
    settings::Settings,
};

pub(crate) fn run(action: &UserAction, settings: &Settings) -> Result<(), Failure> {
    let (UserAction::Add(user) | UserAction::Passwd(user) | UserAction::Remove(user)) = action;
    let UserArguments { service, name } = user;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (accounts, db) = open(*service, settings).await?;
        let (done, said) = match action {
            UserAction::Add(_) => (add(*service, &accounts, db, name, password()?.into()).await, "added"),
            UserAction::Passwd(_) => {
                (accounts.set_password(name, password()?.into()).await, "password changed")
            }
            UserAction::Remove(_) => (remove(*service, &accounts, name).await, "removed"),
        };
        match done {
            Ok(()) => print(&format!("{name}: {said}\n")),
            Err(ChangeError::Taken) => Err(format!("there is a user {name:?} already").into()),
            Err(ChangeError::Unknown) => Err(format!("there is no user {name:?}").into()),
            Err(error) => Err(error.into()),
        }
    })
}

async fn open(service: ServiceName, settings: &Settings) -> Result<(Accounts, Db), Failure> {
    let (demo, clock, random) = (settings.demo(), Clock::system(), Random::system());
    match service {
        ServiceName::Petstore => {
            let db = serve::open_existing("petstore", petstore::MIGRATIONS, settings).await?;
            Ok((petstore::accounts(db.clone(), demo, clock, random)?, db))
        }
        ServiceName::Train => {
            let db = serve::open_existing("train", train::MIGRATIONS, settings).await?;
            Ok((train::accounts(db.clone(), demo, clock, random)?, db))
        }
        ServiceName::Museum => {
            let db = serve::open_existing("museum", museum::MIGRATIONS, settings).await?;
            Ok((museum::accounts(db.clone(), demo, clock, random)?, db))
        }
    }
}

/// Adds a user, with all that the service keeps about one.
async fn add(
    service: ServiceName,
    accounts: &Accounts,
    db: Db,
    name: &str,
    password: SecretString,
) -> Result<(), ChangeError> {
    match service {
        ServiceName::Petstore => {
            petstore::add_user(accounts, name, password, db, &Clock::system(), Random::system()).await
        }
        ServiceName::Train | ServiceName::Museum => accounts.add(name, password).await.map(drop),
    }
}

/// Removes a user, with all that the service keeps about one.
async fn remove(service: ServiceName, accounts: &Accounts, name: &str) -> Result<(), ChangeError> {
    match service {
        ServiceName::Petstore => petstore::remove_user(accounts, name).await,
        ServiceName::Train => train::remove_user(accounts, name).await,
        ServiceName::Museum => museum::remove_user(accounts, name).await,
    }
}

/// Asks for a password on a terminal, or reads it from standard input: one line, without its end.
fn password() -> Result<String, Failure> {
    if stdin().is_terminal() {
        let first = rpassword::prompt_password("Password: ")?;
        if rpassword::prompt_password("Once more: ")? != first {
            return Err("the two passwords are not the same".into());
        }
        return Ok(first);
    }
    let mut line = String::new();
    stdin().lock().read_line(&mut line)?;
    let password = line.strip_suffix('\n').unwrap_or(&line);
    Ok(password.strip_suffix('\r').unwrap_or(password).to_owned())
}
