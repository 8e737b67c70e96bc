//! The program: command line, settings, start-up and shut-down, one listener per service.
//!
//! `cli` is what can be said to it, `settings` what holds, `serve` starts and stops the services, `user`, `oauth` and `key`
//! manage who is let in. An error that keeps a command from doing its work is one line on standard error and exit code 2.

mod cli;
mod key;
mod log;
mod metrics;
mod oauth;
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
    match cli.command {
        None => serve::run(&Settings::read(&cli.flags.into())?, &[]),
        Some(Command::Serve { services, flags }) => serve::run(&Settings::read(&flags.into())?, &services),
        Some(Command::Openapi { service, place }) => {
            let settings = Settings::read(&place.into())?;
            let document = match service {
                ServiceName::Petstore => {
                    petstore::openapi(&settings.petstore(settings.petstore.listen).address)
                }
                ServiceName::Train => train::openapi(&settings.train(settings.train.listen).address),
                ServiceName::Museum => museum::openapi(&settings.museum.address),
            };
            print(&web::document_text(&document))
        }
        Some(Command::Token { service, user, scope, place }) => {
            oauth::print_token(service, user.as_deref(), scope.as_deref(), place)
        }
        Some(Command::Client { action }) => oauth::client(action),
        Some(Command::Key { action }) => key::run(&action),
        Some(Command::Webhook { action: WebhookAction::Listen { port, secret } }) => {
            webhook::listen(port, secret.as_deref())
        }
        Some(Command::User { action }) => user::run(&action),
        Some(Command::Config { flags }) => print(&Settings::read(&flags.into())?.to_file()),
    }
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
