//! What the program needs: memory, descriptors, threads, files, and the rows of all tables.

use std::{collections::BTreeSet, fmt, fs, path::PathBuf};

use testkit::Program;

use crate::{
    installation::Installation,
    tables::{Tables, files, is_database, tables},
};

pub(super) struct Measured {
    /// The resident memory in bytes.
    pub(super) memory: u64,
    pub(super) open_files: u64,
    pub(super) threads: u64,
    /// The files of the data folder.
    pub(super) names: BTreeSet<String>,
    /// The size of the databases: on SQLite without the WALs, which have a size of their own.
    pub(super) bytes: u64,
    pub(super) tables: Tables,
}

impl Measured {
    pub(super) fn now(installation: &Installation, program: &Program) -> Self {
        let process = PathBuf::from(format!("/proc/{}", program.id()));
        let status = fs::read_to_string(process.join("status")).expect("the program runs");
        let figure = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line of its status");
            line.trim_start_matches(':')
                .split_whitespace()
                .next()
                .and_then(|number| number.parse().ok())
                .unwrap_or(0)
        };
        let mut names = BTreeSet::new();
        let mut bytes = 0;
        let data = installation.data();
        for (path, size) in files(&data) {
            bytes += if is_database(&path) { size } else { 0 };
            names.insert(path.strip_prefix(&data).unwrap_or(&path).display().to_string());
        }
        Measured {
            memory: figure("VmRSS") << 10,
            open_files: fs::read_dir(process.join("fd")).expect("the program runs").count() as u64,
            threads: figure("Threads"),
            names,
            bytes,
            tables: tables(installation),
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { memory, open_files, threads, bytes, tables, .. } = self;
        let rows: u64 = tables.values().sum();
        write!(f, "{} MB, {open_files} open files, {threads} threads, {rows} rows", memory >> 20)?;
        if *bytes > 0 { write!(f, " in {} KB", bytes >> 10) } else { Ok(()) }
    }
}
