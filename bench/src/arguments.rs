//! The command line.

use std::path::PathBuf;

use crate::program::folder;

const USAGE: &str = "[--short] [--instructions] [--program PATH] [TEXT]";

pub(crate) struct Arguments {
    pub(crate) short: bool,
    pub(crate) instructions: bool,
    pub(crate) program: PathBuf,
    /// Only rows whose name contains this are measured.
    pub(crate) filter: String,
}

impl Arguments {
    pub(crate) fn read(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Arguments {
            short: false,
            instructions: false,
            program: folder().join("triptych"),
            filter: String::new(),
        };
        while let Some(argument) = given.next() {
            match argument.as_str() {
                "--short" => arguments.short = true,
                "--instructions" => arguments.instructions = true,
                "--program" => {
                    let path = given.next().ok_or_else(|| format!("--program needs a path: {USAGE}"))?;
                    arguments.program = path.into();
                }
                flag if flag.starts_with("--") => return Err(format!("there is no flag {flag}: {USAGE}")),
                _ => arguments.filter = argument,
            }
        }
        // Absolute: the program runs in other folders.
        let program = arguments.program.canonicalize();
        arguments.program = program
            .map_err(|error| format!("there is no program {}: {error}", arguments.program.display()))?;
        Ok(arguments)
    }
}
