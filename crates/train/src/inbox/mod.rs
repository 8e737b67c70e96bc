//! Inboxes: addresses of the service itself that receive webhooks, so that a subscriber can see events without a server.
//!
//! An inbox is deleted after an hour, and keeps the last messages only. The sender hands events for an inbox over in the
//! process (see [`receive`]): no delivery connects to the service's own ports.

pub(crate) mod api;
pub(crate) mod receive;
pub(crate) mod store;

use jiff::{SignedDuration, Timestamp};
use model::Resource;
use serde::Deserialize;
use uuid::Uuid;

use crate::link::uri;

/// The path of inboxes.
const PATH: &str = "/inboxes";

/// The most inboxes of an owner.
const MOST_INBOXES: i64 = 20;

/// How many messages an inbox keeps.
const MOST_MESSAGES: i64 = 20;

/// How many messages an inbox receives in its lifetime.
const MOST_RECEIVED: i64 = 1000;

/// The largest body of a message.
const LARGEST: usize = 32 * 1024;

const LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// An inbox as its owner sees it.
#[derive(Resource)]
#[resource(name = "Inbox", xml = "inbox", list = "inboxes")]
pub(crate) struct InboxAnswer {
    id: Uuid,
    /// The address to subscribe: events arrive at `newBooking` below it.
    #[field(rule = uri(), example = "https://trains.example.com/inboxes/0192f3c4-a5b6-7c8d-9e0f-1a2b3c4d5e6f")]
    url: String,
    /// When the inbox and its messages are deleted.
    expires_at: Timestamp,
    /// The last messages, the newest first.
    #[field(items = 0..=MOST_MESSAGES as usize)]
    messages: Option<Vec<Message>>,
    links: InboxLinks,
}

/// A request that arrived at an inbox.
#[derive(Debug, Clone, PartialEq, Resource)]
#[resource(name = "InboxMessage", xml = "message")]
pub(crate) struct Message {
    /// The messages of an inbox are numbered from 1.
    #[field(rule = integer::<i64>(1..), example = 1)]
    number: i64,
    received_at: Timestamp,
    /// The headers of a webhook, without the token.
    #[field(items = 0..=receive::KEPT.len())]
    headers: Vec<Header>,
    #[field(rule = text(..))]
    body: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(name = "InboxHeader", xml = "header")]
pub(crate) struct Header {
    #[field(rule = text(1..), example = "webhook-id")]
    name: String,
    #[field(rule = text(..), example = "msg_0192f3c4a5b67c8d9e0f1a2b3c4d5e6f")]
    value: String,
}

#[derive(Resource)]
#[resource(xml = "links")]
struct InboxLinks {
    #[field(name = "self", rule = uri())]
    this: String,
}

/// An inbox in the database.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inbox {
    id: Uuid,
    expires_at: Timestamp,
}

impl InboxAnswer {
    fn new(Inbox { id, expires_at }: Inbox, address: &str) -> Self {
        let url = format!("{address}{PATH}/{id}");
        InboxAnswer { id, url: url.clone(), expires_at, messages: None, links: InboxLinks { this: url } }
    }
}
