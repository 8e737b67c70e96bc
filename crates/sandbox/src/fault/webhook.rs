//! Faults of deliveries.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;
use web::input::rules::{Rule, either, integer, one_of};

/// How a delivery of a webhook fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookFault {
    Status(u16),
    Timeout,
}

const TIMEOUT: &str = "timeout";

pub(super) fn rule() -> impl Rule<Value = WebhookFault> {
    let status = integer(400..=599).then(|_, status| Some(WebhookFault::Status(status)));
    either(status, one_of(&[(TIMEOUT, WebhookFault::Timeout)]))
        .or_fail("must be a status from 400 to 599, or timeout")
}

impl Serialize for WebhookFault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            WebhookFault::Status(status) => serializer.serialize_u16(*status),
            WebhookFault::Timeout => serializer.serialize_str(TIMEOUT),
        }
    }
}

impl<'de> Deserialize<'de> for WebhookFault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let status = value.as_u64().and_then(|status| u16::try_from(status).ok());
        match (status, value.as_str()) {
            (Some(status), _) => Ok(WebhookFault::Status(status)),
            (None, Some(TIMEOUT)) => Ok(WebhookFault::Timeout),
            _ => Err(D::Error::custom("must be a status or timeout")),
        }
    }
}
