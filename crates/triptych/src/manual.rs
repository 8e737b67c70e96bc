//! `triptych completions` and `triptych man`: for packages, from the command line itself.

use std::{fs, io, path::Path};

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::{Failure, cli::Cli, print_bytes};

pub(crate) fn print_completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "triptych", &mut text);
    print_bytes(&text)
}

/// Writes `triptych.1`, and `triptych-serve.1` and so on for the commands.
pub(crate) fn write(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| not_written(folder, &error))?;
    let mut program = Cli::command();
    // Gives each command its full name and the settings, which all commands take.
    program.build();
    write_page(&program, folder)
}

fn write_page(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    let man = Man::new(command.clone());
    let path = folder.join(man.get_filename());
    let mut page = Vec::new();
    man.render(&mut page)?;
    fs::write(&path, page).map_err(|error| not_written(&path, &error))?;
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    commands
        .filter(|command| command.get_name() != "help")
        .try_for_each(|command| write_page(command, folder))
}

fn not_written(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}
