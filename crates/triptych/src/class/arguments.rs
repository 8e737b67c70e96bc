//! The arguments of `triptych class …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sandbox::Name;

use crate::control::arguments::{ServerFlags, name};

#[derive(Args)]
pub(crate) struct ClassCommand {
    #[command(subcommand)]
    pub(crate) action: ClassAction,
    #[command(flatten)]
    pub(crate) server: ServerFlags,
}

#[derive(Subcommand)]
pub(crate) enum ClassAction {
    /// Create a sandbox for each student; the control tokens are shown only now
    Create(CreateArguments),
    /// Show for each student the number of calls and errors, and the last call
    Show {
        /// The name of the class
        #[arg(value_parser = name)]
        name: Name,
    },
    /// Restore the data of all sandboxes of a class
    Reset {
        /// The name of the class
        #[arg(value_parser = name)]
        name: Name,
    },
    /// Delete all sandboxes of a class
    Delete {
        /// The name of the class
        #[arg(value_parser = name)]
        name: Name,
    },
}

#[derive(Args)]
pub(crate) struct CreateArguments {
    /// The name of the class; the sandboxes are NAME-01, NAME-02 and so on
    #[arg(long, value_parser = name)]
    pub(crate) name: Name,
    /// The number of students
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=500))]
    pub(crate) students: u16,
    /// Write the sandboxes to this new file, as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a page to print to this new file, as HTML: a card per student, with a link and its QR code
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
}
