//! The program: command line, settings, start-up and shut-down, one listener per service.
//!
//! `cli` is the command line, `settings` has the settings in effect and the list of services, `serve` starts and stops the
//! services; `console` is the page on the admin listener; `user`, `oauth` and `key` manage users, clients, tokens and API keys;
//! `control` and `class` call a running server to control its sandboxes; `probe` asks one whether it is ready; `check` verifies
//! the data; `transfer` backs it up, restores and moves it; `retention` deletes
//! what is old; `manual` writes manual pages and completions. A command that fails prints one line on standard error and exits with
//! code 2; with code 1 if the server that it calls is not there, is not ready or refuses the call, or if a check failed or data is
//! damaged.

mod check;
mod class;
mod cli;
mod console;
mod control;
mod ephemeral;
mod key;
mod listen;
mod log;
mod manual;
mod metrics;
mod new_file;
mod oauth;
mod open;
mod probe;
mod process_metrics;
mod ready_file;
mod retention;
mod runtime;
mod secret;
mod serve;
mod serve_arguments;
mod service_flags;
mod service_manager;
mod service_names;
mod settings;
mod start_page;
mod table;
mod transfer;
mod user;
mod webhook;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use check::Violated;
use clap::Parser;
use cli::{Cli, Command, WebhookAction};
use control::server::CallError;
use probe::Probe;
use serve_arguments::ServeArguments;
use service::public_address;
use settings::{Flags, Settings};
use transfer::Mismatch;

/// Faster than the allocator of the system, and gives memory back after large peaks, such as password hashes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Why a command failed.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed the pipe: there is nothing left to do.
        Err(failure) if is_broken_pipe(&failure) => ExitCode::SUCCESS,
        Err(failure) => {
            // Standard error may be closed, too.
            let _ = writeln!(io::stderr(), "triptych: {failure}");
            let is_answer = failure.is::<CallError>() || failure.is::<Violated>() || failure.is::<Mismatch>();
            if is_answer { ExitCode::FAILURE } else { ExitCode::from(2) }
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let flags: Flags = cli.flags.try_into()?;
    let settings = || Settings::read(&flags);
    match cli.command {
        None => serve::run(&settings()?, &ServeArguments::default()),
        Some(Command::Serve(arguments)) if arguments.ephemeral => ephemeral::run(flags, &arguments),
        Some(Command::Serve(arguments)) => serve::run(&settings()?, &arguments),
        Some(Command::Openapi { service, version }) => print(&document(&service, &version, &settings()?)?),
        Some(Command::Token { service, user, scope }) => {
            oauth::print_token(&service, user.as_deref(), scope.as_deref(), &settings()?)
        }
        Some(Command::Client { action }) => oauth::client(action, &settings()?),
        Some(Command::Key { action }) => key::run(&action, &settings()?),
        Some(Command::Webhook { action: WebhookAction::Listen { port, secret } }) => {
            webhook::listen(port, secret.as_deref())
        }
        Some(Command::User { action }) => user::run(&action, &settings()?),
        Some(Command::Class(command)) => class::run(&command, &settings()?),
        Some(Command::Sandbox(command)) => control::run(&command, &settings()?),
        Some(Command::Config) => print(&settings()?.to_file()),
        Some(Command::Health(arguments)) => probe::run(Probe::Health, &arguments, &settings()?),
        Some(Command::Ready(arguments)) => probe::run(Probe::Ready, &arguments, &settings()?),
        Some(Command::Check(arguments)) => check::run(&arguments, &settings()?),
        Some(Command::Backup(arguments)) => transfer::backup(&arguments, &settings()?),
        Some(Command::Restore(arguments)) => transfer::restore(&arguments, &settings()?),
        Some(Command::Move(arguments)) => transfer::move_data(&arguments, &settings()?),
        Some(Command::Prune(arguments)) => retention::prune(&arguments, &settings()?),
        Some(Command::Completions { shell }) => manual::print_completions(shell),
        Some(Command::Man { folder }) => manual::write(&folder),
    }
}

/// A service's OpenAPI document for readers outside of the service: it has the service's address.
fn document(service: &str, version: &str, settings: &Settings) -> Result<String, Failure> {
    let service = settings.service(service)?;
    let address = public_address(service.address(), settings.scheme(), service.listen());
    let mut document = service.openapi(&address, web::Clock::system().now())?;
    let issuer = service.oauth().and_then(|oauth| oauth.external_issuer());
    if let (Some(issuer), Some(oauth)) = (issuer, &service.description().oauth) {
        issuer.issued_by().write(&mut document, oauth.scheme);
    }
    let document = web::openapi::at_address(document, &address);
    Ok(if version == "3.0" { web::document_text_3_0(&document) } else { web::document_text(&document) })
}

fn is_broken_pipe(failure: &Failure) -> bool {
    failure.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}
