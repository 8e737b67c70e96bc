//! `triptych user …`: who can sign in to a service.

use std::io::{BufRead, IsTerminal, stdin};

use identity::{Accounts, ChangeError};
use web::{Chance, Clock};

use crate::{
    Failure,
    cli::{ServiceName, UserAction, UserArguments},
    print, serve,
    settings::Settings,
};

pub(crate) fn run(action: &UserAction) -> Result<(), Failure> {
    let (UserAction::Add(user) | UserAction::Passwd(user) | UserAction::Remove(user)) = action;
    let UserArguments { service, name, place } = user;
    let settings = Settings::read(&place.clone().into())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let accounts = accounts(*service, &settings).await?;
        let (done, said) = match action {
            UserAction::Add(_) => (accounts.add(name, password()?.into()).await.map(drop), "added"),
            UserAction::Passwd(_) => {
                (accounts.set_password(name, password()?.into()).await, "password changed")
            }
            UserAction::Remove(_) => (accounts.remove(name).await, "removed"),
        };
        match done {
            Ok(()) => print(&format!("{name}: {said}\n")),
            Err(ChangeError::Taken) => Err(format!("there is a user {name:?} already").into()),
            Err(ChangeError::Unknown) => Err(format!("there is no user {name:?}").into()),
            Err(error) => Err(error.into()),
        }
    })
}

async fn accounts(service: ServiceName, settings: &Settings) -> Result<Accounts, Failure> {
    let (clock, chance) = (Clock::system(), Chance::system());
    match service {
        ServiceName::Museum => {
            let db = serve::open("museum", museum::MIGRATIONS, settings).await?;
            Ok(museum::accounts(db, settings.demo(), clock, chance)?)
        }
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
