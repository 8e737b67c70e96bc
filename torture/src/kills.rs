//! SIGKILLs of the program, and of PostgreSQL, under mixed load.

use std::time::Duration;

use testkit::Engine;
use tokio::runtime::Runtime;

use crate::{Add, Torture, installation::Installation, load::Run};

pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        for (engine, short) in [(Engine::Sqlite, 2), (Engine::Postgres, 1)] {
            let mut random = torture.random("kills");
            let installation = Installation::new(torture, engine, "kills", &mut random);
            let (mut run, mut program) = Run::start(installation, random).await;
            let deadline = torture.deadline(Duration::from_secs(140));
            program = run.kill_program(program, torture.size(150, short), deadline, &mut |_| {}).await;
            let fault = format!("SIGKILL of the program on {engine:?} under mixed load");
            add(run.line(torture, &fault).await);
            if engine == Engine::Postgres {
                let deadline = torture.deadline(Duration::from_secs(60));
                run.kill_postgres(torture.size(30, 1), deadline).await;
                add(run.line(torture, "SIGKILL of the PostgreSQL server under mixed load").await);
            }
            assert!(program.terminate().success(), "the program stops after SIGTERM");
        }
    });
}
