//! The arguments of `triptych sandbox …`.

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use sandbox::Name;
use serde_json::Value;
use uuid::Uuid;

use super::delay::delay;
use crate::settings::Settings;

/// Which server, and the token for it.
#[derive(Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerFlags {
    /// The address of a service of the server [default: that of the first service in the settings that answers]
    #[arg(long, value_name = "URL", env = "TRIPTYCH_SERVER", global = true)]
    pub(crate) server: Option<String>,
    /// The operator's token or a control token [default: TRIPTYCH_CONTROL_TOKEN for the sandbox TRIPTYCH_SANDBOX; else
    /// TRIPTYCH_OPERATOR_TOKEN; else made from the secret in --data]
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
    /// Make calls and deliveries of webhooks fail on purpose
    Fault {
        #[command(subcommand)]
        action: FaultAction,
    },
    /// Show the last calls, or follow new ones
    Journal(JournalArguments),
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
    /// Make new signing keys now; with =remove, tokens of the old keys are not valid any more
    #[arg(long, value_name = "OLD", num_args = 0..=1, require_equals = true, default_missing_value = "keep",
          value_parser = ["keep", "remove"])]
    pub(crate) rotate_keys: Option<String>,
}

#[derive(Subcommand)]
pub(crate) enum FaultAction {
    /// List the rules
    List {
        #[command(flatten)]
        target: Target,
        /// Print the answer of the server as JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a rule, and print its id
    ///
    /// It applies to all calls that have what it names. The first rule that applies to a call decides.
    Add(Box<FaultArguments>),
    /// Remove a rule
    #[command(allow_missing_positional = true)]
    Remove {
        #[command(flatten)]
        target: Target,
        /// The id of the rule
        #[arg(required = true)]
        id: Uuid,
    },
    /// Remove all rules
    Clear {
        #[command(flatten)]
        target: Target,
    },
}

/// Which calls a fault rule or a list of calls is about.
#[derive(Args)]
pub(crate) struct CallFilter {
    /// Only calls to this service
    #[arg(long, value_parser = services())]
    pub(crate) service: Option<String>,
    /// Only calls of this operation, by its operationId
    #[arg(long)]
    pub(crate) operation: Option<String>,
    /// Only calls with this method
    #[arg(long)]
    pub(crate) method: Option<String>,
    /// Only calls to these paths: * is any part of a segment, ** is any number of segments
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// Only calls of this user, OAuth client or address
    #[arg(long)]
    pub(crate) caller: Option<String>,
}

#[derive(Args)]
pub(crate) struct FaultArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) calls: CallFilter,
    /// Each nth call
    #[arg(long, value_name = "N")]
    pub(crate) every: Option<u64>,
    /// The first n calls
    #[arg(long, value_name = "N")]
    pub(crate) first: Option<u64>,
    /// This share of the calls, from 0 to 1, at random
    #[arg(long, value_name = "SHARE")]
    pub(crate) probability: Option<f64>,
    /// Makes the random choices the same in each run
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Answer with this status, from 400 to 599, without doing the call
    #[arg(long)]
    pub(crate) status: Option<u64>,
    /// The detail of the problem
    #[arg(long, value_name = "TEXT")]
    pub(crate) detail: Option<String>,
    /// The header Retry-After of the problem
    #[arg(long, value_name = "SECONDS")]
    pub(crate) retry_after: Option<u64>,
    /// Wait before the call is done: 200, or 100..900 for any time in this range
    #[arg(long, value_name = "MS", value_parser = delay)]
    pub(crate) delay_ms: Option<Value>,
    /// Close the connection before the work is done, after it is committed, or in the middle of the answer
    #[arg(long, value_parser = ["before", "after", "middle"])]
    pub(crate) drop: Option<String>,
    /// Send the answer at this speed
    #[arg(long, value_name = "NUMBER")]
    pub(crate) bytes_per_second: Option<u64>,
    /// Send a body that no reader accepts
    #[arg(long)]
    pub(crate) malformed: bool,
    /// Let deliveries of webhooks fail with this status, or with timeout
    #[arg(long, value_name = "STATUS")]
    pub(crate) webhook: Option<String>,
    /// The rule as JSON, in place of the other arguments
    #[arg(long, value_name = "JSON", conflicts_with_all = [
        "service", "operation", "method", "path", "caller", "every", "first", "probability", "seed", "status", "detail",
        "retry_after", "delay_ms", "drop", "bytes_per_second", "malformed", "webhook",
    ])]
    pub(crate) rule: Option<String>,
}

#[derive(Args)]
pub(crate) struct JournalArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Go on with new calls
    #[arg(long)]
    pub(crate) follow: bool,
    /// Print an HTTP Archive (HAR)
    #[arg(long, conflicts_with = "follow")]
    pub(crate) har: bool,
    /// Print a call with its headers and bodies, as JSON
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["follow", "har"])]
    pub(crate) call: Option<u64>,
    /// Print a call as a curl command
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["follow", "har", "call"])]
    pub(crate) curl: Option<u64>,
    /// Remove all calls from the journal
    #[arg(long, conflicts_with_all = ["follow", "har", "call", "curl"])]
    pub(crate) clear: bool,
    /// Print JSON; with --follow, a line for each call
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) calls: CallFilter,
    /// Only calls with this status, such as 404, or a class of them, such as 4xx
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// At most this number of calls, from 1 to 1000 [default: 100; with --har, 1000]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) limit: Option<String>,
}

fn services() -> PossibleValuesParser {
    PossibleValuesParser::new(Settings::defaults().services().map(|service| service.description().name))
}
