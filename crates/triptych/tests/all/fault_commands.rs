//! `triptych sandbox fault …`, while the server runs in another process.

use crate::{
    common::{Workspace, failed_with, refused},
    sandbox_commands::Sandboxes,
};
use serde_json::{Value, json};

/// The rules of a sandbox, without their ids.
fn rules(sandboxes: &Sandboxes<'_>, name: &str) -> Vec<Value> {
    let answer: Value =
        serde_json::from_str(&sandboxes.run(&["sandbox", "fault", "list", name, "--json"])).unwrap();
    let mut rules = answer["rules"].as_array().unwrap().clone();
    for rule in &mut rules {
        rule.as_object_mut().unwrap().remove("id").unwrap();
    }
    rules
}

testkit::on_one_engine! {
    async fn all_members_of_a_rule_have_an_argument(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        sandboxes.run(&["sandbox", "create", "ada"]);
        let add = |more: &[&str]| sandboxes.run(&[&["sandbox", "fault", "add", "ada"], more].concat());
        add(&["--operation", "getPetById", "--caller", "demo", "--probability", "0.25", "--seed", "7", "--status", "500",
            "--detail", "On purpose.", "--delay-ms", "1..2"]);
        add(&["--every", "3", "--delay-ms", "5", "--drop", "after"]);
        add(&["--bytes-per-second", "1000"]);
        add(&["--malformed"]);
        add(&["--service", "train", "--webhook", "timeout"]);
        add(&["--webhook", "503"]);
        add(&["--rule", r#"{"delay_ms": {"mean": 5, "deviation": 1}}"#]);
        assert_eq!(rules(&sandboxes, "ada"), [
            json!({
                "operation": "getPetById", "caller": "demo", "probability": 0.25, "seed": 7, "status": 500,
                "detail": "On purpose.", "delay_ms": {"from": 1, "to": 2},
            }),
            json!({"every": 3, "delay_ms": 5, "drop": "after"}),
            json!({"bytes_per_second": 1000}),
            json!({"malformed": true}),
            json!({"service": "train", "webhook": "timeout"}),
            json!({"webhook": 503}),
            json!({"delay_ms": {"mean": 5, "deviation": 1}}),
        ]);
        let refusal = sandboxes.command(&["sandbox", "fault", "add", "ada", "--status", "200", "--every", "0"]).output().unwrap();
        assert_eq!(
            failed_with(1, &refusal),
            "triptych: every must be a whole number from 1 to 1000000; status must be a whole number from 400 to 599 (400 \
             Bad Request)"
        );
        let refusal = sandboxes.command(&["sandbox", "fault", "add", "ada", "--rule", "{"]).output().unwrap();
        assert!(refused(&refusal).starts_with("triptych: the rule is not JSON: "));
    }

    async fn root_services_are_controlled_in_a_demo(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        let get = async || sandboxes.petstore().get("/v3/pet/1").header("api_key", "special-key").send().await.status;
        sandboxes.run(&["sandbox", "fault", "add", "--root", "--status", "503"]);
        assert_eq!(get().await, 503);
        assert_eq!(sandboxes.run(&["sandbox", "fault", "clear", "--root"]), "root: no faults");
        assert_eq!(get().await, 200);
        sandboxes.run(&["sandbox", "sign-in", "--root", "--mode", "off"]);
        assert_eq!(sandboxes.run(&["sandbox", "snapshot", "--root", "before"]), "root: saved as before");
        sandboxes.petstore().delete("/v3/pet/1").send().await.has_status(200);
        assert_eq!(sandboxes.run(&["sandbox", "restore", "--root", "before"]), "root: restored from before");
        assert_eq!(get().await, 200);
        assert_eq!(
            sandboxes.run(&["sandbox", "clock", "--root", "--set", "2030-06-01T09:00:00Z", "--freeze"]),
            "2030-06-01T09:00:00Z, frozen"
        );
        assert_eq!(sandboxes.run(&["sandbox", "reset", "--root"]), "root: reset");
        let both = sandboxes.command(&["sandbox", "reset", "--root", "ada"]).output().unwrap();
        assert_eq!(both.status.code(), Some(2));
        let neither = sandboxes.command(&["sandbox", "reset"]).output().unwrap();
        assert_eq!(neither.status.code(), Some(2));
    }

    async fn fault_is_added_listed_and_removed(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        sandboxes.run(&["sandbox", "create", "ada"]);
        let get = async || {
            let call = sandboxes.petstore().get("/sandbox/ada/v3/pet/1");
            call.header("api_key", "special-key").send().await
        };
        let add = |more: &[&str]| sandboxes.run(&[&["sandbox", "fault", "add", "ada"], more].concat());
        let id = add(&["--service", "petstore", "--method", "get", "--path", "/v3/pet/*", "--first", "1",
            "--status", "503", "--retry-after", "7"]);
        assert_eq!(id.len(), 36, "{id}");
        let failed = get().await;
        assert_eq!((failed.status, failed.header("retry-after")), (503, "7"));
        get().await.has_status(200);
        let listed = sandboxes.run(&["sandbox", "fault", "list", "ada"]);
        let columns: Vec<_> = listed.lines().nth(1).unwrap().split("  ").filter(|text| !text.is_empty()).collect();
        assert_eq!(columns, [
            id.as_str(),
            "first 1, method GET, path /v3/pet/*, service petstore",
            "retry-after 7, status 503",
        ]);
        assert_eq!(sandboxes.run(&["sandbox", "fault", "remove", "ada", &id]), format!("{id}: removed"));
        assert_eq!(
            sandboxes.fails(&["sandbox", "fault", "remove", "ada", &id]),
            "triptych: There is no fault rule with this id. (404 Not Found)"
        );
        add(&["--status", "418"]);
        get().await.has_status(418);
        assert_eq!(sandboxes.run(&["sandbox", "fault", "clear", "ada"]), "ada: no faults");
        get().await.has_status(200);
    }
}
