//! Fault rules: which calls and deliveries of a sandbox fail, and how.
//!
//! - [`FaultRule`]: a rule, declared with all that a client can send. Its members are flat, so that a rule is short:
//!   `{"method": "POST", "path": "/bookings", "first": 2, "status": 503}`.
//! - [`Rules`]: the rules of a sandbox. They decide which fault a call gets; the first rule that applies wins. Deciding is a pure
//!   function: the numbers of the calls and the random numbers are arguments.
//! - [`preferred`]: the fault that a call asks for itself, by the header `Prefer`.

mod check;
mod decision;
mod delay;
mod prefer;
mod rules;
mod seeded;
mod webhook;

use model::{Resource, Words};
use rust_decimal::{Decimal, prelude::ToPrimitive};
use serde::Deserialize;
use uuid::Uuid;
use web::input::rules::{Rule, decimal};

use crate::{glob, method::Method};
use check::check;

pub use decision::{Decision, StatusFault};
pub use delay::{Delay, DelayDistribution, LONGEST_DELAY};
pub use prefer::{Preferred, preferred};
pub use rules::{CallInfo, Known, MOST_RULES, Matching, Rules, TooManyRules};
pub use webhook::WebhookFault;

/// The largest number that every reader of JSON keeps exactly.
const LARGEST_SEED: i64 = (1 << 53) - 1;

/// A rule that makes calls or deliveries of a sandbox fail.
///
/// A call matches if it has everything that the rule names. Without `every`, `first` or `probability`, the rule applies to each
/// call that matches. If several rules apply to a call, the first of them decides.
#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(new = NewFaultRule, new_doc = "A rule to be added. It needs at least one effect.", check = check)]
#[resource(new_derive(Debug), closed)]
pub struct FaultRule {
    #[field(read_only)]
    pub id: Uuid,
    /// Only calls to this service, or deliveries of it.
    pub service: Option<ServiceName>,
    /// Only calls of this operation, by its `operationId` in the service's OpenAPI document.
    #[field(rule = text(1..=100), example = "create-booking")]
    pub operation: Option<String>,
    /// Only calls with this method.
    pub method: Option<Method>,
    /// Only calls to these paths, without the prefix of the sandbox. `*` is any part of a segment, and a segment `**` is any number
    /// of segments. A path of more than 2,048 bytes does not match.
    #[field(rule = glob::rule(), example = "/bookings/*")]
    pub path: Option<String>,
    /// Only calls of this caller: the name of a user or the id of its account, the id of an OAuth client, the name of an API key, or
    /// the address of a client. A rule with a name decides when the caller has signed in, if no rule without one has decided before.
    #[field(rule = text(1..=200), example = "demo")]
    pub caller: Option<String>,
    /// Each nth call that matches: 3 for the third, the sixth and so on.
    #[field(rule = integer(1_i64..=1_000_000))]
    pub every: Option<i64>,
    /// The first n calls that match.
    #[field(rule = integer(1_i64..=1_000_000))]
    pub first: Option<i64>,
    /// The share of the calls that match, at random.
    #[field(rule = probability())]
    pub probability: Option<f64>,
    /// Makes the random choices depend on this number and the number of the call only, so that a run can be repeated.
    #[field(rule = integer(0..=LARGEST_SEED))]
    pub seed: Option<i64>,
    /// The call is not done, and gets a problem with this status.
    #[field(rule = integer(400_u16..=599), example = 503)]
    pub status: Option<u16>,
    /// The detail of the problem.
    #[field(rule = text(1..=1000))]
    pub detail: Option<String>,
    /// The header `Retry-After` of the problem, in seconds. Without it, 429 and 503 have 1, and other statuses have none.
    #[field(rule = integer(0_i64..=86_400))]
    pub retry_after: Option<i64>,
    /// Milliseconds before the call is done: a number, or a distribution.
    #[field(rule = delay::rule())]
    pub delay_ms: Option<Delay>,
    /// The connection is closed at this point of the call.
    pub drop: Option<DropPoint>,
    /// The body of the answer is sent at this speed.
    #[field(rule = integer(1_i64..=1_000_000))]
    pub bytes_per_second: Option<i64>,
    /// Whether the body of the answer is malformed: no reader of JSON or XML accepts it.
    pub malformed: Option<bool>,
    /// Deliveries of webhooks are not sent, and count as answered with this status, or as `timeout`. Such a rule is about deliveries:
    /// it has no other effect, and names nothing of a call but its `service`.
    #[field(rule = webhook::rule())]
    pub webhook: Option<WebhookFault>,
}

/// A service of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum ServiceName {
    Petstore,
    Train,
    Museum,
}

/// When the connection of a call is closed: `before` its work is done, `after` the work is committed and before the answer, or in
/// the `middle` of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum DropPoint {
    Before,
    After,
    Middle,
}

fn probability() -> impl Rule<Value = f64> {
    decimal(Decimal::ZERO..=Decimal::ONE).then(|_, share| share.to_f64())
}

#[cfg(test)]
mod tests;
