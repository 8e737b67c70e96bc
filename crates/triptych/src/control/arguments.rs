//! The arguments of `triptych sandbox …`.

use clap::{Args, Subcommand};
use sandbox::Name;

/// Which server, and the token for it.
#[derive(Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerFlags {
    /// The address of a service of the server [default: that of the first service in the settings that answers]
    #[arg(long, value_name = "URL", env = "TRIPTYCH_SERVER", global = true)]
    pub(crate) server: Option<String>,
    /// The operator's token or a control token [default: TRIPTYCH_CONTROL_TOKEN; else made from the secret in --data]
    #[arg(long, value_name = "TOKEN", global = true)]
    pub(crate) token: Option<String>,
}

/// A sandbox, or the root services.
#[derive(Args)]
pub(crate) struct Target {
    /// The name of the sandbox
    #[arg(required_unless_present = "root", value_parser = name)]
    pub(crate) name: Option<Name>,
    /// The services at the root, instead of a sandbox; only in a demo
    #[arg(long, conflicts_with = "name")]
    pub(crate) root: bool,
}

/// A snapshot of a sandbox, or of the root services.
#[derive(Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct SnapshotTarget {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The name of the snapshot
    #[arg(required = true, value_parser = name)]
    pub(crate) snapshot: Name,
}

pub(crate) fn name(text: &str) -> Result<Name, String> {
    let must = "must have 1 to 32 lower-case letters, digits and dashes, without a dash at either end, and must not begin with \
                template";
    Name::new(text).ok_or_else(|| must.into())
}

#[derive(Args)]
pub(crate) struct SandboxCommand {
    #[command(subcommand)]
    pub(crate) action: SandboxAction,
    #[command(flatten)]
    pub(crate) server: ServerFlags,
}

#[derive(Subcommand)]
pub(crate) enum SandboxAction {
    /// Create a sandbox; its control token is shown only now
    Create {
        /// Its name: lower-case letters, digits and dashes [default: the server chooses one]
        #[arg(value_parser = name)]
        name: Option<Name>,
        /// The class that it belongs to
        #[arg(long, value_parser = name)]
        class: Option<Name>,
        /// Print the answer of the server as JSON
        #[arg(long)]
        json: bool,
        /// Print variables for a shell: eval "$(triptych sandbox create --env)"
        #[arg(long, conflicts_with = "json")]
        env: bool,
    },
    /// List all sandboxes
    List {
        /// Only those of this class
        #[arg(long, value_parser = name)]
        class: Option<Name>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a sandbox: its addresses, and until when it exists
    Show {
        /// The name of the sandbox
        #[arg(value_parser = name)]
        name: Name,
        /// Print the answer of the server as JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore the data that the sandbox was created with
    Reset {
        #[command(flatten)]
        target: Target,
    },
    /// Save the data under a name; a snapshot of this name is replaced
    Snapshot(SnapshotTarget),
    /// List the snapshots, or delete one
    Snapshots {
        #[command(flatten)]
        target: Target,
        /// Delete this snapshot
        #[arg(long, value_name = "SNAPSHOT", value_parser = name)]
        delete: Option<Name>,
    },
    /// Restore the data of a snapshot
    Restore(SnapshotTarget),
    /// Delete a sandbox with all its data
    Delete {
        /// The name of the sandbox
        #[arg(value_parser = name)]
        name: Name,
    },
    /// Show the clock, or move it
    Clock(ClockArguments),
    /// Show the sign-in, or change it
    SignIn(SignInArguments),
    /// Show the compatibility of the pet store, or change it
    Compat {
        #[command(flatten)]
        target: Target,
        /// The habits of the pet store
        #[arg(long, value_parser = ["strict", "public-petstore"])]
        mode: Option<String>,
    },
    /// Print the operator's token, and nothing else
    ///
    /// It is made from the secret of the installation, and can control all sandboxes.
    Token,
}

#[derive(Args)]
pub(crate) struct ClockArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Move the clock by this time: 1h, 90m, 2 days, PT1H; with a minus sign, back
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) advance: Option<String>,
    /// Set the clock: 2030-06-01T09:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) set: Option<String>,
    /// Stop the clock
    #[arg(long)]
    pub(crate) freeze: bool,
    /// Let the clock run again
    #[arg(long, conflicts_with = "freeze")]
    pub(crate) resume: bool,
}

#[derive(Args)]
pub(crate) struct SignInArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Check credentials, accept any of the right form as the demo user, or need none
    #[arg(long, value_parser = ["enforce", "any", "off"])]
    pub(crate) mode: Option<String>,
    /// The lifetime of new access tokens
    #[arg(long, value_name = "SECONDS")]
    pub(crate) access_token_seconds: Option<u32>,
    /// The lifetime of new refresh tokens
    #[arg(long, value_name = "SECONDS")]
    pub(crate) refresh_token_seconds: Option<u32>,
    /// The lifetime of new sessions
    #[arg(long, value_name = "SECONDS")]
    pub(crate) session_seconds: Option<u32>,
    /// How many calls an hour a caller may make
    #[arg(long, value_name = "NUMBER")]
    pub(crate) calls_per_hour: Option<u32>,
    /// Go back to the usual mode, lifetimes and limit, before the other changes
    #[arg(long)]
    pub(crate) defaults: bool,
    /// Make all tokens and sessions expire now
    #[arg(long)]
    pub(crate) expire_now: bool,
    /// Make new signing keys now
    #[arg(long)]
    pub(crate) rotate_keys: bool,
}
