//! The same work on PostgreSQL, next to `pgbench` on the same server with as many connections as the program has.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    compare::Comparison,
    data::{ADD_PETS, FIRST_PET},
    program::Program,
    work::{api_key, bearer, new_pets, pet_paths},
    wrk::{self, Measured, Requests},
};

/// The default of the setting `limits.database_connections`.
const CONNECTIONS: &str = "16";

/// One insert of a pet with one tag, as the program does it.
const INSERT: &str = r#"\set id random(1, 9000000000000000)
BEGIN;
INSERT INTO petstore.pet (id, name, category, photo_urls, tags, status) VALUES (:id, 'Pet number ' || :id::bigint, '{"id":1,"name":"Dogs"}', '["https://example.com/a.jpg"]', '[{"id":1,"name":"tag1"}]', 'available');
UPDATE petstore.pet_count SET pets = pets + 1 WHERE status = 'available' AND shard = :id::bigint & 15;
INSERT INTO petstore.pet_tag (name, pet_id) VALUES ('tag' || (:id::bigint % 100), :id);
COMMIT;
"#;

/// A server, with the program on it.
pub(crate) struct Postgres {
    url: String,
    folder: PathBuf,
    program: Program,
    pets: i64,
}

impl Postgres {
    pub(crate) fn start(folder: &Path, pets: i64) -> Self {
        let folder = folder.join("postgres");
        let url = testkit::DurablePostgres::start(&folder).expect("PostgreSQL starts").url();
        let run = folder.with_file_name("postgres-program");
        fs::create_dir_all(&run).expect("a folder");
        let program = Program::start_without_sandboxes(&run, &["--database", &url]);
        let add = ADD_PETS.replace("INTO pet", "INTO petstore.pet");
        let add =
            add.replace("$1", &FIRST_PET.to_string()).replace("$2", &(FIRST_PET + pets - 1).to_string());
        psql(&url, &add);
        run_pgbench(&url, &["--initialize", "--scale", "10", "--quiet"]);
        psql(&url, "VACUUM ANALYZE");
        Postgres { url, folder: run, program, pets }
    }

    /// Another process, with sandboxes.
    pub(crate) fn with_sandboxes(&self) -> Program {
        Program::start(&self.folder, &["--database", &self.url])
    }

    /// Reads of a pet next to reads of a row by its key.
    pub(crate) fn reads(&self, rounds: usize, time: Duration) -> Comparison {
        let requests = Requests::get(pet_paths(self.pets), api_key());
        self.compare(&requests, rounds, time, &["--select-only"])
    }

    /// New pets next to the same transaction.
    pub(crate) fn writes(&self, rounds: usize, time: Duration) -> Comparison {
        let token = self.program.token("petstore");
        let requests = Requests::post("/v3/pet", vec![bearer(&token)], new_pets());
        let script = self.folder.join("insert.sql");
        fs::write(&script, INSERT).expect("the script can be written");
        self.compare(&requests, rounds, time, &["--file", &script.display().to_string()])
    }

    fn compare(&self, requests: &Requests, rounds: usize, time: Duration, pgbench: &[&str]) -> Comparison {
        let seconds = time.as_secs().to_string();
        let common = [
            "--no-vacuum",
            "--protocol",
            "prepared",
            "--client",
            CONNECTIONS,
            "--jobs",
            "2",
            "--time",
            &seconds,
        ];
        Comparison::measure(
            rounds,
            || wrk::run(requests, self.program.petstore, time, &self.folder),
            || transactions_per_second(&run_pgbench(&self.url, &[&common[..], pgbench].concat())),
        )
    }
}

fn run_pgbench(url: &str, arguments: &[&str]) -> String {
    let output = Command::new("pgbench").args(arguments).arg(url).output().expect("pgbench runs");
    assert!(output.status.success(), "pgbench: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn transactions_per_second(report: &str) -> Measured {
    let rate = report.lines().find_map(|line| match line.strip_prefix("tps = ") {
        Some(rate) => rate.split(' ').next()?.parse().ok(),
        // A short run on a busy machine may have none, and then no rate.
        None => (line == "number of transactions actually processed: 0").then_some(0.0),
    });
    let rate = rate.unwrap_or_else(|| panic!("pgbench: {report}"));
    Measured { rate, p99: Duration::ZERO }
}

fn psql(url: &str, sql: &str) {
    let output =
        Command::new("psql").args(["--quiet", "--command", sql]).arg(url).output().expect("psql runs");
    assert!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
}
