//! The program: command line, settings, start-up and shut-down, one listener per service.
//!
//! `cli` is what can be said to it, `settings` what holds, `serve` starts and stops the services, `user`, `oauth` and `key`
//! manage who is let in. An error that keeps a command from doing its work is one line on standard error and exit code 2.

mod cli;
mod key;
mod log;
mod metrics;
mod oauth;
mod secret;
mod serve;
mod settings;
mod start_page;
mod user;
mod webhook;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;
use cli::{Cli, Command, ServiceName, WebhookAction};
use settings::Settings;

/// What keeps a command from doing its work.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read this has gone, and with them what there was to do.
        Err(failure) if is_broken_pipe(&failure) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody to tell when standard error is closed too.
            let _ = writeln!(io::stderr(), "triptych: {failure}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let flags = cli.flags.try_into()?;
    let settings = || Settings::read(&flags);
    match cli.command {
        None => serve::run(&settings()?, &[]),
        Some(Command::Serve { services }) => serve::run(&settings()?, &services),
        Some(Command::Openapi { service, version }) => print(&document(service, &version, &settings()?)?),
        Some(Command::Token { service, user, scope }) => {
            oauth::print_token(service, user.as_deref(), scope.as_deref(), &settings()?)
        }
        Some(Command::Client { action }) => oauth::client(action, &settings()?),
        Some(Command::Key { action }) => key::run(&action, &settings()?),
        Some(Command::Webhook { action: WebhookAction::Listen { port, secret } }) => {
            webhook::listen(port, secret.as_deref())
        }
        Some(Command::User { action }) => user::run(&action, &settings()?),
        Some(Command::Config) => print(&settings()?.to_file()),
    }
}

/// A service's OpenAPI document, for readers who did not get it from the service: it names where the service is.
fn document(service: ServiceName, version: &str, settings: &Settings) -> Result<String, Failure> {
    let now = web::Clock::system().now();
    let (mut document, address, issuer) = match service {
        ServiceName::Petstore => {
            let petstore::Settings { address, issuer, .. } = settings.petstore(settings.petstore.listen);
            let document = petstore::with_examples(petstore::openapi(&address), now);
            (document, address, issuer.map(|issuer| (issuer, petstore::OAUTH)))
        }
        ServiceName::Train => {
            let train::Settings { address, issuer, hold, .. } = settings.train(settings.train.listen);
            let timetable = train::Timetable::built_in()?;
            let document = train::with_examples(train::openapi(&address, hold), &timetable, now);
            (document, address, issuer.map(|issuer| (issuer, train::OAUTH)))
        }
        ServiceName::Museum => {
            let address = settings::address(&settings.museum.address, settings.museum.listen);
            let document = museum::with_examples(museum::openapi(&address), &settings.museum(), now)?;
            (document, address, None)
        }
    };
    if let Some((issuer, scheme)) = issuer {
        issuer.issued_by().write(&mut document, scheme);
    }
    let document = web::openapi::at_address(document, &address);
    Ok(if version == "3.0" { web::document_text_3_0(&document) } else { web::document_text(&document) })
}

fn is_broken_pipe(failure: &Failure) -> bool {
    failure.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
