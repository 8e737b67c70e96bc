//! The arguments of `triptych serve`.

use std::path::PathBuf;

use clap::Args;

use crate::service_names::names;

#[derive(Args, Default)]
pub(crate) struct ServeArguments {
    /// Which services to start; all if none is named
    #[arg(value_parser = names(|_| true))]
    pub(crate) services: Vec<String>,
    /// A demo in a temporary folder and on free ports; the folder is removed at the end
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// Write addresses, process id, demo accounts and the operator's token to this file, as JSON, when all services are ready
    #[arg(long, value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,
}
