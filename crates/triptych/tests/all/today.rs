//! `--today`: the date on which the services start.

use crate::common::{Workspace, museum, output_of, with_input};
use testkit::{Client, Program};

/// The first day of the museum's hours.
async fn first_day(program: &Program) -> String {
    let hours = museum(program).get("/v1.1/museum-hours?limit=1").send().await;
    hours.has_status(200).json()[0]["date"].as_str().unwrap().to_owned()
}

/// The log line about the clock.
fn line(program: &Program) -> serde_json::Value {
    let log = program.logged();
    let mut lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let found =
        lines.find(|line| line["message"].as_str().unwrap().starts_with("the clock of the services is set"));
    found.unwrap_or_else(|| panic!("no line in {log}"))
}

async fn is_accepted(program: &Program, token: &str) {
    let store = Client::new(program.address("petstore"));
    let pets = store.get("/v3/pet/findByStatus?status=sold").header("authorization", token).send().await;
    pets.has_status(200);
}

testkit::on_one_engine! {
    async fn services_start_on_the_date_of_the_flag(workspace: Workspace) {
        // In the past and in the future; each is a day on which the museum is open.
        for date in ["2021-05-05", "2031-05-07"] {
            let program = Program::start(workspace.serving().args(["--today", date]));
            assert!(first_day(&program).await.starts_with(&date[..9]), "{date}");
            let line = line(&program);
            assert_eq!((&line["level"], &line["message"]), (&"INFO".into(), &"the clock of the services is set".into()));
            assert!(line["time"].as_str().unwrap().starts_with(date), "{line}");
            // A command has the clock of the services, without the flag.
            is_accepted(&program, &workspace.token("petstore")).await;
            assert!(program.terminate().success());
        }
        // The clock of a demo stays where it was set.
        let program = workspace.serve();
        assert!(line(&program)["time"].as_str().unwrap().starts_with("2031-05-0"));
        is_accepted(&program, &workspace.token("petstore")).await;
    }

    async fn date_outside_of_a_demo_is_used_with_a_warning(workspace: Workspace) {
        let program = Program::start(workspace.serving_without_demo().args(["--today", "2031-05-07"]));
        let line = line(&program);
        assert_eq!((&line["level"], &line["message"]), (&"WARN".into(), &"the clock of the services is set, outside of a demo".into()));
        let mut add = workspace.command(&["user", "add", "petstore", "ada", "--today", "2031-05-07"]);
        assert!(with_input(&mut add, "correct horse\n").status.success());
        let mut token = workspace.command(&["token", "petstore", "--user", "ada", "--no-demo", "--today", "2031-05-07"]);
        is_accepted(&program, &format!("Bearer {}", output_of(&mut token))).await;
        assert!(program.terminate().success());
        // It starts by the machine's clock again.
        let program = Program::start(&mut workspace.serving_without_demo());
        assert!(!program.logged().contains("the clock of the services"));
    }
}
