//! `triptych sandbox fault …`: the rules that make calls and deliveries fail.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    arguments::{FaultAction, FaultArguments},
    server::{Call, Server, text},
};
use crate::{
    Failure, print,
    table::{as_text, row, table},
};

const PATH: &str = "/faults";

/// The members that say to which calls a rule applies; the others are its effect.
const CONDITIONS: [&str; 9] =
    ["service", "operation", "method", "path", "caller", "every", "first", "probability", "seed"];

pub(super) async fn run(server: &Server, action: &FaultAction) -> Result<(), Failure> {
    match action {
        FaultAction::List { target, json: true } => {
            let answer = text(server.call(target.into(), Call::get(PATH)).await?).await?;
            print(&format!("{answer}\n"))
        }
        FaultAction::List { target, json: false } => {
            #[derive(Deserialize)]
            struct Rules {
                rules: Vec<Map<String, Value>>,
            }
            let Rules { rules } = server.json(target.into(), Call::get(PATH)).await?;
            let mut rows = vec![row(["id", "calls", "effect"])];
            rows.extend(rules.iter().map(shown));
            print(&table(&rows))
        }
        FaultAction::Add(arguments) => {
            let call = Call::post(PATH).body(rule(arguments)?);
            let added: Map<String, Value> = server.json((&arguments.target).into(), call).await?;
            let [id, ..] = shown(&added);
            print(&format!("{id}\n"))
        }
        FaultAction::Remove { target, id } => {
            server.call(target.into(), Call::delete(&format!("{PATH}/{id}"))).await?;
            print(&format!("{id}: removed\n"))
        }
        FaultAction::Clear { target } => {
            server.call(target.into(), Call::delete(PATH)).await?;
            print(&format!("{target}: no faults\n"))
        }
    }
}

/// The id, the conditions and the effect of a rule.
fn shown(rule: &Map<String, Value>) -> [String; 3] {
    let id = rule.get("id").and_then(Value::as_str).unwrap_or_default();
    let part = |is_condition: bool| {
        let members = rule.iter().filter(|(name, value)| {
            *name != "id" && !value.is_null() && CONDITIONS.contains(&name.as_str()) == is_condition
        });
        let words = members.map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{} {}", name.replace('_', "-"), as_text(&value))
        });
        words.collect::<Vec<_>>().join(", ")
    };
    let conditions = part(true);
    [id.to_owned(), if conditions.is_empty() { "all".into() } else { conditions }, part(false)]
}

/// The rule that the arguments describe. The server checks it.
fn rule(arguments: &FaultArguments) -> Result<Value, Failure> {
    if let Some(rule) = &arguments.rule {
        return serde_json::from_str(rule).map_err(|error| format!("the rule is not JSON: {error}").into());
    }
    let text = |value: &Option<String>| value.as_ref().map(|value| json!(value));
    let number = |value: Option<u64>| value.map(|value| json!(value));
    let members = [
        ("service", text(&arguments.calls.service)),
        ("operation", text(&arguments.calls.operation)),
        ("method", arguments.calls.method.as_ref().map(|method| json!(method.to_uppercase()))),
        ("path", text(&arguments.calls.path)),
        ("caller", text(&arguments.calls.caller)),
        ("every", number(arguments.every)),
        ("first", number(arguments.first)),
        ("probability", arguments.probability.map(|share| json!(share))),
        ("seed", number(arguments.seed)),
        ("status", number(arguments.status)),
        ("detail", text(&arguments.detail)),
        ("retry_after", number(arguments.retry_after)),
        ("delay_ms", arguments.delay_ms.clone()),
        ("drop", text(&arguments.drop)),
        ("bytes_per_second", number(arguments.bytes_per_second)),
        ("malformed", arguments.malformed.then_some(Value::Bool(true))),
        ("webhook", arguments.webhook.as_deref().map(number_or_text)),
    ];
    let given = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Ok(Value::Object(given.collect()))
}

fn number_or_text(text: &str) -> Value {
    text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number))
}
