//! `triptych sandbox journal`: the last calls to a sandbox.

use std::io::{self, IsTerminal};

use jiff::Timestamp;
use reqwest::Response;
use serde::Deserialize;
use serde_json::Value;

use super::{
    arguments::JournalArguments,
    events::Events,
    server::{About, Call, CallError, Server, query, text},
};
use crate::{Failure, print, print_bytes, table::as_text};

const PATH: &str = "/journal";

/// The most calls that a journal has.
pub(crate) const MOST: &str = "1000";

/// After so many connections in a row that were closed without a call, a follower stops.
const MOST_WITHOUT_CALLS: u32 = 3;

/// A call, as far as it is printed.
#[derive(Debug, Deserialize)]
pub(crate) struct Summary {
    number: u64,
    time: Timestamp,
    duration_ms: f64,
    service: String,
    caller: Caller,
    method: String,
    path: String,
    status: Option<u16>,
    problem: Option<String>,
    fault: Option<String>,
    aborted: bool,
}

#[derive(Debug, Deserialize)]
struct Caller {
    user: Option<String>,
    client: Option<String>,
    address: String,
}

pub(super) async fn run(server: &Server, arguments: &JournalArguments) -> Result<(), Failure> {
    let about = About::from(&arguments.target);
    if arguments.clear {
        server.call(about, Call::delete(PATH)).await?;
        return print(&format!("{}: journal cleared\n", arguments.target));
    }
    if let Some(number) = arguments.curl {
        let command = text(server.call(about, Call::get(&format!("{PATH}/{number}/curl"))).await?).await?;
        return print(&for_output(command, io::stdout().is_terminal()));
    }
    if let Some(number) = arguments.call {
        let call: Value = server.json(about, Call::get(&format!("{PATH}/{number}"))).await?;
        return print(&format!("{call:#}\n"));
    }
    if arguments.har {
        let limit = arguments.limit.as_deref().or(Some(MOST));
        let filter = filter(arguments, limit, None);
        copy(server.call(about, Call::get(&format!("{PATH}/har{filter}"))).await?).await?;
        return print("\n");
    }
    let last = list(server, about, arguments).await?;
    if arguments.follow { follow(server, about, arguments, last).await } else { Ok(()) }
}

/// The query of the filters.
fn filter(arguments: &JournalArguments, limit: Option<&str>, since: Option<u64>) -> String {
    let since = since.map(|number| number.to_string());
    query(&[
        ("service", arguments.calls.service.as_deref()),
        ("operation", arguments.calls.operation.as_deref()),
        ("method", arguments.calls.method.as_ref().map(|method| method.to_uppercase()).as_deref()),
        ("path", arguments.calls.path.as_deref()),
        ("status", arguments.status.as_deref()),
        ("caller", arguments.calls.caller.as_deref()),
        ("limit", limit),
        ("since", since.as_deref()),
    ])
}

/// The calls of a journal, the newest first.
pub(crate) async fn calls(server: &Server, about: About<'_>, filter: &str) -> Result<Vec<Summary>, Failure> {
    let answer = text(server.call(about, Call::get(&format!("{PATH}{filter}"))).await?).await?;
    read(&answer)
}

fn read(answer: &str) -> Result<Vec<Summary>, Failure> {
    #[derive(Deserialize)]
    struct Calls {
        calls: Vec<Summary>,
    }
    Ok(serde_json::from_str::<Calls>(answer)?.calls)
}

/// Prints the calls, the oldest first, and gives the number of the newest.
async fn list(server: &Server, about: About<'_>, arguments: &JournalArguments) -> Result<u64, Failure> {
    let filter = filter(arguments, arguments.limit.as_deref(), None);
    let answer = text(server.call(about, Call::get(&format!("{PATH}{filter}"))).await?).await?;
    let calls = read(&answer)?;
    match arguments.json {
        false => print(&calls.iter().rev().map(Summary::line).collect::<String>())?,
        // A program that follows gets one call per line.
        true if arguments.follow => {
            let answer: Value = serde_json::from_str(&answer)?;
            let calls = answer["calls"].as_array().into_iter().flatten().rev();
            print(&calls.map(|call| format!("{call}\n")).collect::<String>())?;
        }
        true => print(&format!("{answer}\n"))?,
    }
    Ok(calls.first().map_or(0, |newest| newest.number))
}

/// Prints new calls until the sandbox is deleted or the server stops. A connection that is closed is opened again.
async fn follow(
    server: &Server,
    about: About<'_>,
    arguments: &JournalArguments,
    mut last: u64,
) -> Result<(), Failure> {
    let mut connections_without_calls = 0;
    while connections_without_calls < MOST_WITHOUT_CALLS {
        let before = last;
        let path = format!("{PATH}/events{}", filter(arguments, None, Some(last)));
        let mut events = Events::new(server.call(about, Call::get(&path).stream()).await?);
        while let Some(event) = events.next().await? {
            if event.name == "skipped" {
                print(&format!("({} calls were skipped)\n", as_text(&event.data)))?;
                continue;
            }
            let call: Summary = serde_json::from_str(&event.data)?;
            last = call.number;
            print(&if arguments.json { format!("{}\n", event.data) } else { call.line() })?;
        }
        connections_without_calls = if last == before { connections_without_calls + 1 } else { 0 };
    }
    Err(CallError::failure("the server closes the connection each time".into()))
}

/// A command as a client sent it. Its control characters must not reach a terminal.
fn for_output(command: String, is_terminal: bool) -> String {
    match is_terminal {
        true => command.lines().map(|line| as_text(line) + "\n").collect(),
        false => command,
    }
}

/// Prints an answer as it arrives.
async fn copy(mut response: Response) -> Result<(), Failure> {
    while let Some(chunk) = response.chunk().await? {
        print_bytes(&chunk)?;
    }
    Ok(())
}

impl Summary {
    /// Whether the call got an error, or no complete answer.
    pub(crate) fn is_error(&self) -> bool {
        self.aborted || self.status.is_none_or(|status| status >= 400)
    }

    /// The time, the method, the path and the status.
    pub(crate) fn short(&self) -> String {
        format!("{:.0} {} {} {}", self.time, self.method, as_text(&self.path), self.status_text())
    }

    fn status_text(&self) -> String {
        self.status.map_or_else(|| "-".into(), |status| status.to_string())
    }

    fn line(&self) -> String {
        let Caller { user, client, address } = &self.caller;
        let caller = user.as_ref().or(client.as_ref()).unwrap_or(address);
        let notes: Vec<_> =
            [self.problem.as_deref(), self.fault.as_deref(), self.aborted.then_some("aborted")]
                .into_iter()
                .flatten()
                .collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
        let line = format!(
            "{:>5}  {:.0}  {:<8}  {:<6}  {:>3}  {:>9.2} ms  {caller}  {}{notes}",
            self.number,
            self.time,
            self.service,
            self.method,
            self.status_text(),
            self.duration_ms,
            self.path,
        );
        as_text(&line) + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        let command = "curl http://a -d '\u{1b}[2J\nb'\n".to_owned();
        assert_eq!(for_output(command.clone(), false), command);
        assert_eq!(for_output(command, true), "curl http://a -d ' [2J\nb'\n");
    }
}
