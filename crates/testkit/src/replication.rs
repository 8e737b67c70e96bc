//! A PostgreSQL with a replica, which a test kills and promotes.

use std::{fs, io, path::Path, process::Command};

use crate::cluster::{Cluster, Owner, binary, boot_replicated, serve};

/// A primary, and a replica that has each committed transaction before its commit is answered.
pub struct ReplicatedPostgres {
    primary: Cluster,
    primary_id: u32,
    replica: Cluster,
}

impl ReplicatedPostgres {
    /// Starts both in this folder. They run until the test run ends.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let run = std::process::id();
        let (primary, primary_id) = boot_replicated(&folder.join("primary"), run)?;
        let copy = folder.join("replica");
        let owner = Owner::find()?;
        fs::create_dir_all(&copy)?;
        owner.give(&copy)?;
        let copied = owner
            .command(&binary("pg_basebackup"), &copy)
            .args(["--no-sync", "--checkpoint=fast", "--write-recovery-conf"])
            .arg(format!("--dbname={}", primary.url("postgres")))
            .arg("--pgdata")
            .arg(copy.join("data"))
            .output()?;
        if !copied.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&copied.stderr).into_owned()));
        }
        let (replica, _) = serve(&copy, run, &["listen_addresses=127.0.0.1"])?;
        primary.run("postgres", "ALTER SYSTEM SET synchronous_standby_names TO '*'");
        primary.run("postgres", "SELECT pg_reload_conf()");
        Ok(ReplicatedPostgres { primary, primary_id, replica })
    }

    /// A URL with both hosts. The program connects to the one that takes writes.
    pub fn url(&self) -> String {
        let (primary, replica) = (self.primary.port(), self.replica.port());
        format!(
            "postgres://postgres@127.0.0.1:{primary},127.0.0.1:{replica}/postgres?target_session_attrs=read-write"
        )
    }

    /// Ends all processes of the primary with SIGKILL.
    pub fn kill_primary(&self) {
        let killed = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.primary_id)]).status();
        assert!(killed.expect("kill runs").success());
    }

    /// Makes the replica the primary.
    pub fn promote_replica(&self) {
        self.replica.run("postgres", "SELECT pg_promote(true, 60)");
    }
}
