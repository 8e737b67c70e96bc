//! The metrics with their help texts, and the files for Prometheus and Grafana in `ops`.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use testkit::{Client, Engine};

use crate::{
    common::{Workspace, museum},
    docs::root,
};

fn ops(file: &str) -> PathBuf {
    root().join("ops").join(file)
}

/// Runs promtool, which must find no fault.
fn promtool(arguments: &[&str], input: &str) {
    let mut command = Command::new("promtool");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool, which tools/install installs");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
}

/// The names in the table of metrics of the documentation.
fn documented() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/operating.md")).unwrap();
    let (_, section) = text.split_once("\n### Metrics\n").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split(['`', '{']).next())
        .filter(|name| name.starts_with("triptych_") || name.starts_with("process_"))
        .map(str::to_owned)
        .collect()
}

/// The metrics that an expression names.
fn named(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("triptych_") || word.starts_with("process_")).map(|word| {
        let parts = ["_bucket", "_count", "_sum"];
        parts.iter().find_map(|part| word.strip_suffix(part)).unwrap_or(word).to_owned()
    })
}

testkit::on_both_engines! {
    async fn every_metric_has_a_help_text_and_is_documented(workspace: Workspace) {
        let program = workspace.serve();
        let admin = Client::new(program.address("admin"));
        let ticket = json!({"ticketType": "general", "ticketDate": "2020-01-01", "email": "a@example.com"});
        museum(&program).post("/v1.1/tickets").json(&ticket).send().await.has_status(400);
        let metrics = admin.get("/metrics").send().await.has_status(200).text();
        promtool(&["check", "metrics"], &metrics);
        let names = |kind: &str| -> BTreeSet<String> {
            let lines = metrics.lines().filter_map(|line| line.strip_prefix(kind));
            lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
        };
        let found = names("# TYPE ");
        assert_eq!(names("# HELP "), found);
        let mut expected = documented();
        // These appear with the first of what they count, or only with traces or a replica.
        for later in [
            "triptych_connections_refused_total",
            "triptych_webhook_attempt_seconds",
            "triptych_trace_spans_total",
            "triptych_db_stale_reads_total",
        ] {
            assert!(expected.remove(later), "{later}");
        }
        if workspace.store.engine() == Engine::Sqlite {
            assert!(expected.remove("triptych_db_connections"));
        } else {
            assert!(expected.remove("triptych_db_batch_units"));
        }
        let missing: Vec<_> = expected.difference(&found).collect();
        let unknown: Vec<_> = found.difference(&documented()).cloned().collect();
        assert_eq!((missing, unknown), (vec![], Vec::<String>::new()));
        let version = format!("triptych_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
        assert!(metrics.lines().any(|line| line == version), "{metrics}");
    }
}

#[test]
fn alert_rules_and_the_example_of_prometheus_are_valid() {
    promtool(&["check", "rules", ops("alerts.yml").to_str().unwrap()], "");
    promtool(&["test", "rules", ops("alerts_test.yml").to_str().unwrap()], "");
    promtool(&["check", "config", ops("prometheus.yml").to_str().unwrap()], "");
}

#[test]
fn alerts_and_the_dashboard_use_documented_metrics() {
    let documented = documented();
    let alerts = fs::read_to_string(ops("alerts.yml")).unwrap();
    let unknown = |text: &str| named(text).filter(|name| !documented.contains(name)).collect::<Vec<_>>();
    assert_eq!(unknown(&alerts), Vec::<String>::new());
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(ops("dashboard.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let expressions: Vec<_> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(expressions.len() >= panels.len());
    for expression in &expressions {
        assert_eq!(unknown(expression), Vec::<String>::new(), "{expression}");
        assert!(named(expression).next().is_some(), "{expression}");
        // Grafana replaces its own words before it asks Prometheus, which must understand the rest.
        let rule = expression.replace("$__rate_interval", "1m").replace("$instance", ".*");
        let file = json!({"groups": [{"name": "a", "rules": [{"record": "a", "expr": rule}]}]});
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rule.json");
        fs::write(&path, file.to_string()).unwrap();
        promtool(&["check", "rules", path.to_str().unwrap()], "");
    }
}
