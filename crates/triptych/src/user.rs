//! `triptych user …`: the users of a service.

use std::io::{BufRead, IsTerminal, stdin};

use identity::ChangeError;

use crate::{
    Failure,
    cli::{UserAction, UserArguments},
    print, serve,
    settings::Settings,
};

pub(crate) fn run(action: &UserAction, settings: &Settings) -> Result<(), Failure> {
    let (UserAction::Add(user) | UserAction::Passwd(user) | UserAction::Remove(user)) = action;
    let UserArguments { service, name } = user;
    let service = settings.service(service)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let instance = serve::open_existing(service, settings).await?;
        let (done, result) = match action {
            UserAction::Add(_) => (service.add_user(&instance, name, password()?.into()).await, "added"),
            UserAction::Passwd(_) => {
                let accounts = service.description().accounts(&instance)?;
                (accounts.set_password(name, password()?.into()).await, "password changed")
            }
            UserAction::Remove(_) => (service.remove_user(&instance, name).await, "removed"),
        };
        match done {
            Ok(()) => print(&format!("{name}: {result}\n")),
            Err(ChangeError::Taken) => Err(format!("there is a user {name:?} already").into()),
            Err(ChangeError::Unknown) => Err(format!("there is no user {name:?}").into()),
            Err(error) => Err(error.into()),
        }
    })
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
