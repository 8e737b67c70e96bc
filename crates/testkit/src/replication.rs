//! A PostgreSQL with a replica, which a test kills and promotes.

use std::{fs, io, path::Path, process::Child};

use crate::cluster::{Cluster, Owner, binary, boot_replicated, kill_all, serve};

/// A primary, and a replica that has each committed transaction before its commit is answered.
pub struct ReplicatedPostgres {
    primary: Cluster,
    primary_server: Child,
    replica: Cluster,
    replica_server: Child,
}

impl ReplicatedPostgres {
    /// Starts both in this folder. They run until the test run ends.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let run = std::process::id();
        let (primary, primary_server) = boot_replicated(&folder.join("primary"), run)?;
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
        let (replica, replica_server) = serve(&copy, run, &["listen_addresses=127.0.0.1"])?;
        primary.run("postgres", "ALTER SYSTEM SET synchronous_standby_names TO '*'");
        primary.run("postgres", "SELECT pg_reload_conf()");
        Ok(ReplicatedPostgres { primary, primary_server, replica, replica_server })
    }

    /// A URL with both hosts. The program connects to the one that takes writes.
    pub fn url(&self) -> String {
        let (primary, replica) = (self.primary.port(), self.replica.port());
        format!(
            "postgres://postgres@127.0.0.1:{primary},127.0.0.1:{replica}/postgres?target_session_attrs=read-write"
        )
    }

    /// The URL of the primary alone.
    pub fn primary_url(&self) -> String {
        self.primary.url("postgres")
    }

    /// The URL of the replica alone.
    pub fn replica_url(&self) -> String {
        self.replica.url("postgres")
    }

    /// Waits until readers of the replica see all that was committed.
    pub fn replay_all(&self) {
        let committed =
            "SET synchronous_commit TO remote_apply; CREATE TABLE replayed (); DROP TABLE replayed";
        self.primary.run("postgres", committed);
    }

    /// From now on the replica receives transactions, but its readers do not see them.
    pub fn pause_replica(&self) {
        self.replica.run("postgres", "SELECT pg_wal_replay_pause()");
        // The pause begins when the transaction that is being replayed has ended.
        let paused = "DO $$ BEGIN WHILE pg_get_wal_replay_pause_state() <> 'paused' LOOP PERFORM pg_sleep(0.01); END LOOP; END $$";
        self.replica.run("postgres", paused);
    }

    /// Ends the pause.
    pub fn resume_replica(&self) {
        self.replica.run("postgres", "SELECT pg_wal_replay_resume()");
    }

    /// Ends all processes of the replica with SIGKILL. The primary does not wait for it any more.
    pub fn kill_replica(&self) {
        self.primary.run("postgres", "ALTER SYSTEM SET synchronous_standby_names TO ''");
        self.primary.run("postgres", "SELECT pg_reload_conf()");
        kill_all(&self.replica_server);
    }

    /// Ends all processes of the primary with SIGKILL.
    pub fn kill_primary(&self) {
        kill_all(&self.primary_server);
    }

    /// Makes the replica the primary.
    pub fn promote_replica(&self) {
        self.replica.run("postgres", "SELECT pg_promote(true, 60)");
    }
}
