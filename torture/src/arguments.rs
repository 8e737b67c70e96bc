//! The command line.

use std::path::PathBuf;

use crate::ROWS;

const USAGE: &str = "[--short] [--row NAME] [--seed NUMBER] [--program PATH] [--list]";

pub(crate) struct Arguments {
    pub(crate) list: bool,
    pub(crate) short: bool,
    pub(crate) row: Option<&'static str>,
    pub(crate) seed: Option<u64>,
    pub(crate) program: PathBuf,
}

impl Arguments {
    pub(crate) fn read(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments =
            Arguments { list: false, short: false, row: None, seed: None, program: beside_this() };
        while let Some(flag) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("{flag} needs a value: {USAGE}"));
            match flag.as_str() {
                "--list" => arguments.list = true,
                "--short" => arguments.short = true,
                "--row" => {
                    let name = value()?;
                    let row = ROWS.iter().find(|row| row.name == name);
                    let row = row.ok_or_else(|| format!("there is no row {name}; --list lists them"))?;
                    arguments.row = Some(row.name);
                }
                "--seed" => {
                    let seed = value()?;
                    let number = seed.parse().map_err(|_| format!("--seed {seed} is no whole number"))?;
                    arguments.seed = Some(number);
                }
                "--program" => arguments.program = value()?.into(),
                _ => return Err(format!("{flag} is no flag of it: {USAGE}")),
            }
        }
        // Absolute: the program runs in other folders.
        let program = arguments.program.canonicalize();
        arguments.program = program
            .map_err(|error| format!("there is no program {}: {error}", arguments.program.display()))?;
        Ok(arguments)
    }
}

/// The program that was built together with this one.
fn beside_this() -> PathBuf {
    std::env::current_exe().expect("the path of this program").with_file_name("triptych")
}
