//! Traces of a running program: from a call to its webhook, and to a collector that may be away.

use std::process::Command;

use serde_json::{Value, json};
use testkit::{Address, Answer, Client, Collector, Engine, Program, receiver::Receiver};

use crate::common::{Workspace, bare, output_of, refused};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

async fn post(workspace: &Workspace, train: &Client, path: &str, body: &Value) -> Answer {
    let call = train.post(path).header("authorization", &workspace.train_token());
    call.header("traceparent", PARENT).header("tracestate", "a=1").json(body).send().await
}

/// Subscribes a receiver, and books the trip of the example.
async fn book(workspace: &Workspace, program: &Program, receiver: &Receiver) {
    let train = Client::new(program.address("train"));
    let url = json!({"url": receiver.url("a").as_str()});
    train
        .post("/webhooks")
        .header("authorization", &workspace.train_token())
        .json(&url)
        .send()
        .await
        .has_status(201);
    let document = train.get("/openapi.json").send().await.json();
    let content = &document["paths"]["/bookings"]["post"]["requestBody"]["content"];
    post(workspace, &train, "/bookings", &content["application/json"]["example"]).await.has_status(201);
}

testkit::on_both_engines! {
    async fn webhook_continues_the_trace_of_the_booking(workspace: Workspace) {
        let (collector, receiver) = (Collector::start().await, Receiver::start().await);
        let mut command = workspace.serving_train();
        let program = Program::start(command.env("TRIPTYCH_TRACES_ENDPOINT", collector.endpoint()));
        book(&workspace, &program, &receiver).await;
        let got = receiver.wait_for("a", 1).await.remove(0);
        let log = program.whole_log();

        let requests = collector.requests(1).await;
        let spans = testkit::collector::spans(&requests);
        let of_trace: Vec<_> = spans.iter().filter(|span| span.trace_id == TRACE).collect();
        let named = |name: &str| {
            let mut found = of_trace.iter().filter(|span| span.name == name);
            let span = found.next().unwrap_or_else(|| panic!("no {name} in {spans:#?}"));
            assert!(found.next().is_none(), "{spans:#?}");
            span
        };
        let (call, delivery, write) = (named("POST /bookings"), named("POST newBooking"), named("write"));
        assert_eq!((call.parent.as_str(), call.state.as_str(), call.kind), (SPAN, "a=1", 2));
        assert_eq!(call.attributes["http.response.status_code"], 201);
        assert_eq!((&delivery.parent, delivery.kind), (&call.id, 3));
        assert_eq!(delivery.attributes["http.response.status_code"], 204);
        assert_eq!((got.header("traceparent"), got.header("tracestate")), (format!("00-{TRACE}-{}-01", delivery.id).as_str(), "a=1"));
        let system = if workspace.store.engine() == Engine::Sqlite { "sqlite" } else { "postgresql" };
        assert_eq!((&write.parent, &write.attributes), (&call.id, &json!({"db.system.name": system})));
        assert!(of_trace.iter().all(|span| span.resource["service.name"] == "train"), "{spans:#?}");
        // Calls without a traceparent have traces of their own, and the admin listener has none.
        assert!(spans.iter().any(|span| span.name == "POST /webhooks" && span.trace_id != TRACE && span.parent.is_empty()));
        assert!(!spans.iter().any(|span| span.resource["service.name"] == "admin"), "{spans:#?}");
        let line = log.lines().find(|line| line.contains("\"path\":\"/bookings\"")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["trace_id"], TRACE);
    }

    async fn without_a_collector_the_webhook_has_the_traceparent_of_the_booking(workspace: Workspace) {
        let receiver = Receiver::start().await;
        let program = Program::start(&mut workspace.serving_train());
        book(&workspace, &program, &receiver).await;
        let got = receiver.wait_for("a", 1).await.remove(0);
        assert_eq!((got.header("traceparent"), got.header("tracestate")), (PARENT, "a=1"));
        let log = program.whole_log();
        assert!(!log.contains("trace_id"), "{log}");
    }
}

testkit::on_one_engine! {
    async fn program_serves_and_stops_while_the_collector_is_away(workspace: Workspace) {
        // Nothing listens there any more.
        let endpoint = Address::free().await.url();
        let mut command = workspace.serving();
        command.env("TRIPTYCH_TRACES_ENDPOINT", endpoint).env("TRIPTYCH_TRACES_QUEUE", "4");
        let program = Program::start(&mut command);
        let museum = Client::new(program.address("museum"));
        for _ in 0..10 {
            museum.get("/openapi.json").send().await.has_status(200);
        }
        let metrics = Client::new(program.address("admin")).get("/metrics").send().await.text();
        let count = |outcome: &str| -> u64 {
            let name = format!("triptych_trace_spans_total{{outcome=\"{outcome}\"}} ");
            metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
        };
        assert_eq!((count("sent"), count("dropped")), (0, 6));
        let log = program.whole_log();
        assert!(log.contains("\"spans cannot be sent to the collector; retrying\""), "{log}");
        assert!(log.contains("\"the last spans could not be sent to the collector\",\"spans\":4"), "{log}");
    }
}

#[test]
fn settings_of_traces_are_checked_and_their_headers_are_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, value: &str| -> Command {
        let mut command = bare(folder.path(), &["config"]);
        command.env(name, value);
        command
    };
    let endpoint = "triptych: traces.endpoint must be the address of a collector without a user, a query and a fragment, \
                    like http://127.0.0.1:4318";
    for (name, value, said) in [
        ("TRIPTYCH_TRACES_ENDPOINT", "collector", endpoint),
        ("TRIPTYCH_TRACES_ENDPOINT", "http://me:hush@collector", endpoint),
        ("TRIPTYCH_TRACES_SAMPLE_RATIO", "1.5", "triptych: traces.sample_ratio must be from 0 to 1"),
        (
            "TRIPTYCH_TRACES_SAMPLE_RATIO",
            "half",
            "triptych: traces.sample_ratio is \"half\", but must be a number (in TRIPTYCH_TRACES_SAMPLE_RATIO)",
        ),
        ("TRIPTYCH_TRACES_QUEUE", "0", "triptych: traces.queue must be at least 1"),
        (
            "TRIPTYCH_TRACES_HEADERS",
            "hush",
            "triptych: traces.headers must be like name=value,other=value, with names of headers",
        ),
        (
            "TRIPTYCH_TRACES_COLOUR",
            "red",
            "triptych: traces.colour is not a setting; [traces] has endpoint, sample_ratio, queue, headers (in TRIPTYCH_TRACES_COLOUR)",
        ),
    ] {
        assert_eq!(refused(&with(name, value).output().unwrap()), said);
    }
    let printed = output_of(&mut with("TRIPTYCH_TRACES_HEADERS", "x-api-key=hush"));
    assert!(
        printed.contains(
            "\n[traces]\nendpoint = \"\"\nsample_ratio = 1.0\nqueue = 8192\nheaders = \"(hidden)\"\n"
        ),
        "{printed}"
    );
}
