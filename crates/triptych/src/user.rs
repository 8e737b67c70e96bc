//! `triptych user …`: the users of a service.

use std::{
    io::{self, BufRead, BufWriter, IsTerminal, Write, stdin},
    path::Path,
};

use identity::ChangeError;
use service::{ExportError, Instance, Service};

use crate::{
    Failure,
    cli::{UserAction, UserArguments},
    control,
    new_file::NewFile,
    open::open_existing,
    print,
    settings::Settings,
};

pub(crate) fn run(action: &UserAction, settings: &Settings) -> Result<(), Failure> {
    let (UserAction::Add(user)
    | UserAction::Passwd(user)
    | UserAction::Export { user, .. }
    | UserAction::Remove { user, .. }) = action;
    let UserArguments { service, name } = user;
    let service = settings.service(service)?;
    control::block_on(async {
        let instance = open_existing(service, settings).await?;
        let (done, result) = match action {
            UserAction::Add(_) => (service.add_user(&instance, name, password()?.into()).await, "added"),
            UserAction::Passwd(_) => {
                let accounts = service.description().accounts(&instance)?;
                (accounts.set_password(name, password()?.into()).await, "password changed")
            }
            UserAction::Export { output, .. } => {
                return export(service, &instance, name, output.as_deref()).await;
            }
            UserAction::Remove { erase: false, .. } => {
                (service.remove_user(&instance, name).await, "removed")
            }
            UserAction::Remove { erase: true, .. } => {
                (service.description().erase_user(&instance, name).await, "removed, personal data erased")
            }
        };
        match done {
            Ok(()) => print(&format!("{name}: {result}\n")),
            Err(ChangeError::Taken) => Err(format!("there is a user {name:?} already").into()),
            Err(ChangeError::Unknown) => Err(unknown(name)),
            Err(error) => Err(error.into()),
        }
    })
}

fn unknown(name: &str) -> Failure {
    format!("there is no user {name:?}").into()
}

async fn export(
    service: &dyn Service,
    instance: &Instance,
    name: &str,
    output: Option<&Path>,
) -> Result<(), Failure> {
    match output {
        Some(path) => {
            let mut file = BufWriter::new(NewFile::create(path)?);
            write_to(&mut file, service, instance, name).await?;
            file.into_inner()?.finish()?;
            print(&format!("{name}: written to {}\n", path.display()))
        }
        None => {
            let mut out = BufWriter::new(io::stdout());
            write_to(&mut out, service, instance, name).await?;
            Ok(out.flush()?)
        }
    }
}

async fn write_to(
    out: &mut (dyn Write + Send),
    service: &dyn Service,
    instance: &Instance,
    name: &str,
) -> Result<(), Failure> {
    match service.description().export_user(instance, name, out).await {
        Err(ExportError::Unknown) => Err(unknown(name)),
        // As it is, so that a closed pipe is recognised.
        Err(ExportError::Write(error)) => Err(error.into()),
        written => Ok(written?),
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
