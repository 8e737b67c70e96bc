//! Server-Sent Events, as the server sends them.

use reqwest::Response;

use super::server::CallError;
use crate::Failure;

/// The longest event in bytes: a call without its headers and bodies.
const LONGEST: usize = 1024 * 1024;

/// An event; one without a name has an empty one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

/// The events of an answer, one after the other.
pub(super) struct Events {
    response: Response,
    received: Vec<u8>,
}

impl Events {
    pub(super) fn new(response: Response) -> Self {
        Events { response, received: Vec::new() }
    }

    /// The next event; none at the end of the answer.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = next_of(&mut self.received) {
                return Ok(Some(event));
            }
            if self.received.len() > LONGEST {
                return Err(CallError::failure("the server sent an event that is too long".into()));
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.received.extend_from_slice(&chunk),
                Ok(None) => return Ok(None),
                Err(error) => return Err(CallError::failure(format!("the connection was closed: {error}"))),
            }
        }
    }
}

/// Takes the first complete event out of what was received. Comments keep the connection open, and are no events.
fn next_of(received: &mut Vec<u8>) -> Option<Event> {
    loop {
        let end = received.windows(2).position(|two| two == b"\n\n")?;
        let block: Vec<u8> = received.drain(..end + 2).collect();
        let mut event = Event::default();
        let mut has_data = false;
        for line in String::from_utf8_lossy(&block).lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut event.name),
                "data" => {
                    if has_data {
                        event.data.push('\n');
                    }
                    event.data.push_str(value);
                    has_data = true;
                }
                _ => {}
            }
        }
        if has_data {
            return Some(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_arrive() {
        let mut received =
            b": keep\n\nid: 1\ndata: one\n\nevent: skipped\ndata: 2\ndata:3\n\nid: 4\nda".to_vec();
        let event = |name: &str, data: &str| Some(Event { name: name.into(), data: data.into() });
        assert_eq!(next_of(&mut received), event("", "one"));
        assert_eq!(next_of(&mut received), event("skipped", "2\n3"));
        assert_eq!(next_of(&mut received), None);
        received.extend_from_slice(b"ta: four\n\n");
        assert_eq!(next_of(&mut received), event("", "four"));
        assert_eq!(received, b"");
    }
}
