//! The command line: a promise to users and scripts.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::{
    Failure,
    check::CheckArguments,
    class::arguments::ClassCommand,
    control::arguments::SandboxCommand,
    probe::ProbeArguments,
    retention::PruneArguments,
    serve_arguments::ServeArguments,
    service_flags::ServiceFlags,
    service_names::{has_oauth, names},
    settings::Flags,
    transfer::{BackupArguments, MoveArguments, RestoreArguments},
};

const EXIT_CODES: &str = "\
Exit codes:
  0  The command succeeded
  1  The server is not there, is not ready, or refuses the call; or a check failed; or data is damaged
  2  The command could not be run: wrong arguments or settings, or no database";

/// Three well-known sample APIs, implemented for real.
///
/// Without a command, all services start, on an embedded database in ./triptych-data and with demo data.
#[derive(Parser)]
#[command(version, max_term_width = 110, args_override_self = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) flags: SettingFlags,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Start services: all of them, or those named
    Serve(ServeArguments),
    /// Print a service's OpenAPI document as JSON
    Openapi {
        /// Which service's document
        #[arg(value_parser = names(|_| true))]
        service: String,
        /// In which version of OpenAPI
        #[arg(long, value_name = "VERSION", default_value = "3.1", value_parser = ["3.0", "3.1"])]
        version: String,
    },
    /// Print an access token for a service, and nothing else
    ///
    /// It is valid for ten minutes, and can do what its scopes allow in the user's name.
    Token {
        /// Which service the token is for
        #[arg(value_parser = names(has_oauth))]
        service: String,
        /// The user of the token [default: demo, in a demo]
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// The scopes of the token, separated by blanks [default: all]
        #[arg(long)]
        scope: Option<String>,
    },
    /// Manage OAuth clients
    Client {
        #[command(subcommand)]
        action: ClientAction,
    },
    /// Manage the pet store's API keys
    Key {
        #[command(subcommand)]
        action: KeyAction,
    },
    /// Try out webhooks
    Webhook {
        #[command(subcommand)]
        action: WebhookAction,
    },
    /// Manage the users of a service
    User {
        #[command(subcommand)]
        action: UserAction,
    },
    /// Create and control sandboxes of a running server: private copies of all services
    Sandbox(SandboxCommand),
    /// Create and control a sandbox for each student of a class
    Class(ClassCommand),
    /// Print the settings in effect, as a file
    Config,
    /// Ask whether a running server answers
    Health(ProbeArguments),
    /// Ask whether a running server can serve: its database and its background tasks, too
    Ready(ProbeArguments),
    /// Verify what is always true of the data: seats, payments, the inventory, the outbox
    ///
    /// The server may run meanwhile.
    Check(CheckArguments),
    /// Write all data into a file: compressed, with checksums
    ///
    /// The server may run meanwhile. Each database is written as it is at one time.
    #[command(after_help = "Example:\n  triptych backup triptych-$(date +%F).backup")]
    Backup(BackupArguments),
    /// Read all data from a file that `backup` has written, into an empty folder or database
    ///
    /// The backup may be of the other engine. It is checked before anything is written, and read back before it counts.
    #[command(after_help = "Examples:
  triptych restore triptych.backup --data ./restored
  triptych restore triptych.backup --database postgres://triptych@db.example.com/triptych")]
    Restore(RestoreArguments),
    /// Move all data to another folder or database, of the same engine or the other
    ///
    /// Stop the server before. The data at the source stays as it is. A move that was interrupted goes on when it is started again.
    #[command(after_help = "Example:
  triptych move --from ./triptych-data --to postgres://triptych@db.example.com/triptych")]
    Move(MoveArguments),
    /// Delete old data: bookings, tickets, special events
    ///
    /// The server may run meanwhile. Bookings that are held, and those with an open payment, stay. The settings `retention` do the
    /// same every hour.
    #[command(after_help = "Example:\n  triptych prune --before 2026-01-31 --dry-run")]
    Prune(PruneArguments),
    /// Print the completions of a shell
    ///
    /// For bash: triptych completions bash >/etc/bash_completion.d/triptych
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Write the manual pages into a folder: one for the program, and one for each command
    Man {
        /// The folder, which is created if it is missing
        folder: PathBuf,
    },
}

#[derive(Subcommand)]
pub(crate) enum UserAction {
    /// Add a user; the password is asked for, or read from standard input
    Add(UserArguments),
    /// Set a user's password; it is asked for, or read from standard input
    Passwd(UserArguments),
    /// Print all personal data that the service stores of a user, as JSON
    ///
    /// It has no password and no other secret. The server may run meanwhile.
    #[command(after_help = "Example:\n  triptych user export train ada --output ada.json")]
    Export {
        #[command(flatten)]
        user: UserArguments,
        /// Write it into this file, which must not exist; only its owner can read it
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Remove a user
    ///
    /// Paid bookings, payments and tickets stay without names. The server may run meanwhile.
    #[command(after_help = "Example:\n  triptych user remove train ada --erase")]
    Remove {
        #[command(flatten)]
        user: UserArguments,
        /// Erase all personal data of the user, also in snapshots: only paid bookings and payments stay, without names
        #[arg(long)]
        erase: bool,
    },
}

#[derive(Args)]
pub(crate) struct UserArguments {
    /// Which service's user
    #[arg(value_parser = names(|_| true))]
    pub(crate) service: String,
    /// The user's name
    pub(crate) name: String,
}

#[derive(Subcommand)]
pub(crate) enum ClientAction {
    /// Register a client; its id, and its secret if it has one, are printed
    Add {
        /// Which service's client
        #[arg(value_parser = names(has_oauth))]
        service: String,
        /// The name that users see when the client asks for their consent
        name: String,
        /// Where users are sent back to; may be given several times
        #[arg(long = "redirect", value_name = "URL")]
        redirects: Vec<String>,
        /// The scopes it may request, separated by blanks [default: all]
        #[arg(long)]
        scope: Option<String>,
        /// Give the client a secret, which it can keep confidential
        #[arg(long)]
        confidential: bool,
        /// The client serves this address: with its secret it may introspect tokens for the address, and nothing else
        #[arg(long, value_name = "URL", conflicts_with_all = ["redirects", "scope", "confidential"])]
        resource: Option<String>,
    },
    /// Remove a client, its grants and its tokens
    Remove {
        /// Which service's client
        #[arg(value_parser = names(has_oauth))]
        service: String,
        /// The client's id
        id: String,
    },
}

#[derive(Subcommand)]
pub(crate) enum WebhookAction {
    /// Receive webhooks on this machine, check their signatures, and print them
    Listen {
        /// Where to listen, on 127.0.0.1; 0 takes a free port
        #[arg(long, default_value_t = 9000)]
        port: u16,
        /// The subscription's secret, whsec_…; without one nothing is checked
        #[arg(long, env = "TRIPTYCH_WEBHOOK_SECRET", hide_env_values = true)]
        secret: Option<String>,
    },
}

#[derive(Subcommand)]
pub(crate) enum KeyAction {
    /// Make a key and print it; it is shown only once
    Add(KeyArguments),
    /// Remove a key; it is not accepted any more
    Remove(KeyArguments),
}

#[derive(Args)]
pub(crate) struct KeyArguments {
    /// Which service's key
    #[arg(value_parser = names(|service| service.has_api_keys))]
    pub(crate) service: String,
    /// The name of the key
    pub(crate) name: String,
}

/// Settings. Every command takes all of them, before or after its name, so that a script can give the same to each.
#[derive(Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct SettingFlags {
    /// Where the embedded databases are kept [default: ./triptych-data]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,
    /// A PostgreSQL database to use instead: postgres://user:password@host/database
    #[arg(long, value_name = "URL", global = true)]
    database: Option<String>,
    /// A file that holds the URL of a PostgreSQL database, so that no list of processes shows its password
    #[arg(long, value_name = "FILE", global = true)]
    database_file: Option<PathBuf>,
    /// A replica of this database, for reads that may be some seconds old
    #[arg(long, value_name = "URL", global = true)]
    database_replica: Option<String>,
    /// A settings file [default: ./triptych.toml, if it is there]
    #[arg(long, value_name = "FILE", env = "TRIPTYCH_CONFIG", global = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    services: ServiceFlags,
    /// The date on which the services start, and from which their clock runs on [default: the date of the machine]
    #[arg(long, value_name = "DATE", global = true)]
    today: Option<String>,
    /// Where the console and metrics are served [default: 127.0.0.1:8090]
    #[arg(long, value_name = "ADDR", global = true)]
    admin_listen: Option<String>,
    /// Add demo data and enable the demo accounts [default: while only this machine can reach the services]
    #[arg(long, global = true)]
    demo: bool,
    /// No demo data, no demo accounts
    #[arg(long, global = true)]
    no_demo: bool,
}

impl TryFrom<SettingFlags> for Flags {
    type Error = Failure;

    fn try_from(flags: SettingFlags) -> Result<Self, Failure> {
        let SettingFlags {
            data, database, database_file, database_replica, config, today, admin_listen, ..
        } = flags;
        // clap does not compare the flags before a command with those after it.
        let demo = match (flags.demo, flags.no_demo) {
            (true, true) => return Err("--demo and --no-demo exclude each other; give one of them".into()),
            (true, false) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        let services = flags.services.0;
        let (tls_certificate, tls_key) = (None, None);
        Ok(Flags {
            config,
            data,
            database,
            database_file,
            database_replica,
            today,
            admin_listen,
            tls_certificate,
            tls_key,
            demo,
            services,
        })
    }
}
