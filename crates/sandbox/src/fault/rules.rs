//! The rules of a sandbox, and their decision about a call.

use std::net::IpAddr;

use db::Word;
use http::StatusCode;
use thiserror::Error;
use uuid::Uuid;
use web::page::is_of_a_page;

use super::{Decision, FaultRule, NewFaultRule, StatusFault, WebhookFault, seeded};
use crate::{caller::CallerName, glob::Glob};

/// The most rules of a sandbox.
pub const MOST_RULES: usize = 50;

/// A sandbox has as many rules as it can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a sandbox has at most {MOST_RULES} fault rules")]
pub struct TooManyRules;

/// What rules compare of a call.
#[derive(Debug, Clone, Copy)]
pub struct CallInfo<'a> {
    pub service: &'a str,
    /// The `operationId`; none for pages, documents, and paths that do not exist.
    pub operation: Option<&'a str>,
    pub method: &'a http::Method,
    /// Without the prefix of the sandbox and without the query.
    pub path: &'a str,
    pub address: IpAddr,
    pub known: Known<'a>,
}

/// What is known of the caller. A call is decided twice: when it comes, by the rules that name no user and no client, and, if none
/// of them applied, when the caller has signed in, by the others.
#[derive(Debug, Clone, Copy)]
pub enum Known<'a> {
    /// The call has come.
    Address,
    /// The caller has signed in.
    Names {
        user: Option<&'a str>,
        /// The id of the OAuth client, or the name of the API key.
        client: Option<&'a str>,
    },
}

/// The rules of a sandbox, in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<Ready>);

/// A rule that is ready to be compared.
#[derive(Debug, Clone)]
struct Ready {
    rule: FaultRule,
    path: Option<Glob>,
    caller: Option<CallerName>,
}

impl Rules {
    /// The rules in the form of [`Rules::stored`]; an empty text has none.
    pub fn from_stored(stored: &str) -> Result<Self, serde_json::Error> {
        if stored.is_empty() {
            return Ok(Rules::default());
        }
        let rules: Vec<FaultRule> = serde_json::from_str(stored)?;
        Ok(Rules(rules.into_iter().map(Ready::new).collect()))
    }

    /// The rules as JSON, to be stored.
    pub fn stored(&self) -> Result<String, serde_json::Error> {
        let rules: Vec<_> = self.iter().collect();
        serde_json::to_string(&rules)
    }

    pub fn iter(&self) -> impl Iterator<Item = &FaultRule> {
        self.0.iter().map(|ready| &ready.rule)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, id: Uuid) -> Option<&FaultRule> {
        self.iter().find(|rule| rule.id == id)
    }

    /// Adds a rule after all others.
    pub fn add(&mut self, new: NewFaultRule, id: Uuid) -> Result<&FaultRule, TooManyRules> {
        if self.0.len() >= MOST_RULES {
            return Err(TooManyRules);
        }
        self.0.push(Ready::new(new.with_id(id)));
        self.0.last().map(|ready| &ready.rule).ok_or(TooManyRules)
    }

    /// Removes a rule; `false` when there is no such rule.
    pub fn remove(&mut self, id: Uuid) -> bool {
        let before = self.0.len();
        self.0.retain(|ready| ready.rule.id != id);
        self.0.len() < before
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The rules that a call matches.
    pub fn matching(&self, call: &CallInfo<'_>) -> Matching<'_> {
        let calls = self.0.iter().filter(|ready| ready.rule.webhook.is_none() && ready.matches(call));
        Matching(calls.map(|ready| &ready.rule).collect())
    }

    /// The rules that a delivery of a service matches.
    pub fn matching_delivery(&self, service: &str) -> Matching<'_> {
        let deliveries =
            self.0.iter().filter(|ready| ready.rule.webhook.is_some() && ready.is_of_service(service));
        Matching(deliveries.map(|ready| &ready.rule).collect())
    }

    /// The fault that a call gets. `number` is the number of the call, from 1, among those that match a rule; it is only asked
    /// for the rules that [`Matching::counted`] lists.
    pub fn decide(
        &self,
        call: &CallInfo<'_>,
        number: impl FnMut(Uuid) -> u64,
        random: impl FnMut() -> u64,
    ) -> Decision {
        self.matching(call).decide(number, random)
    }
}

impl Ready {
    fn new(rule: FaultRule) -> Self {
        let path = rule.path.as_deref().map(Glob::new);
        let caller = rule.caller.as_deref().map(CallerName::new);
        Ready { rule, path, caller }
    }

    fn is_of_service(&self, service: &str) -> bool {
        self.rule.service.is_none_or(|name| name.word() == service)
    }

    fn is_of_caller(&self, call: &CallInfo<'_>) -> bool {
        match (&self.caller, call.known) {
            (None, Known::Address) => true,
            (Some(caller), Known::Address) => caller.is_address() && caller.is(None, None, call.address),
            (None, Known::Names { .. }) => false,
            (Some(caller), Known::Names { user, client }) => {
                !caller.is_address() && caller.is(user, client, call.address)
            }
        }
    }

    fn matches(&self, call: &CallInfo<'_>) -> bool {
        let rule = &self.rule;
        self.is_of_service(call.service)
            && rule.operation.as_deref().is_none_or(|operation| call.operation == Some(operation))
            && rule.method.is_none_or(|method| method.is(call.method))
            && self.is_of_caller(call)
            && match &self.path {
                Some(path) => path.matches(call.path),
                // A page shows the faults of its calls; without the page itself there is nothing to see.
                None => call.operation.is_some() || !is_of_a_page(call.path),
            }
    }
}

/// The rules that a call or a delivery matches, in order.
#[derive(Debug)]
pub struct Matching<'r>(Vec<&'r FaultRule>);

impl Matching<'_> {
    /// The rules whose calls have to be counted. A call counts for each of them, also if another rule decides.
    pub fn counted(&self) -> impl Iterator<Item = Uuid> {
        self.0.iter().filter(|rule| rule.is_counted()).map(|rule| rule.id)
    }

    /// The fault of the first rule that applies. Asks for the number of the call for each rule that is counted.
    pub fn decide(&self, number: impl FnMut(Uuid) -> u64, random: impl FnMut() -> u64) -> Decision {
        self.first(number, random).map(|(rule, mut random)| rule.effect(&mut random)).unwrap_or_default()
    }

    /// The fault of a delivery, if it gets one.
    pub fn decide_delivery(
        &self,
        number: impl FnMut(Uuid) -> u64,
        random: impl FnMut() -> u64,
    ) -> Option<WebhookFault> {
        self.first(number, random).and_then(|(rule, _)| rule.webhook)
    }

    /// The first rule that applies, and the random numbers for its effect.
    fn first(
        &self,
        mut number: impl FnMut(Uuid) -> u64,
        mut random: impl FnMut() -> u64,
    ) -> Option<(&FaultRule, impl FnMut() -> u64)> {
        let mut found = None;
        for rule in &self.0 {
            let number = if rule.is_counted() { number(rule.id) } else { 0 };
            let mut seeded = rule.seed.map(|seed| seeded::numbers(seed, number));
            let mut next = || seeded.as_mut().map_or_else(&mut random, |seeded| seeded());
            if found.is_none() && rule.applies(number, &mut next) {
                found = Some((*rule, seeded));
            }
        }
        let (rule, mut seeded) = found?;
        Some((rule, move || seeded.as_mut().map_or_else(&mut random, |seeded| seeded())))
    }
}

impl FaultRule {
    /// Whether its decision depends on the number of the call.
    fn is_counted(&self) -> bool {
        self.every.is_some() || self.first.is_some() || self.seed.is_some()
    }

    fn applies(&self, number: u64, random: &mut impl FnMut() -> u64) -> bool {
        let up_to = |limit: i64| u64::try_from(limit).unwrap_or(u64::MAX);
        if let Some(every) = self.every {
            return number.is_multiple_of(up_to(every));
        }
        if let Some(first) = self.first {
            return number <= up_to(first);
        }
        self.probability.is_none_or(|probability| seeded::fraction(random) < probability)
    }

    fn effect(&self, random: &mut impl FnMut() -> u64) -> Decision {
        let status = self.status.and_then(|status| StatusCode::from_u16(status).ok());
        let whole = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        Decision {
            rule: Some(self.id),
            delay: self.delay_ms.map(|delay| delay.of_call(random)).unwrap_or_default(),
            status: status.map(|status| StatusFault {
                status,
                detail: match &self.detail {
                    Some(detail) => detail.clone().into(),
                    None => "A fault rule of the sandbox gives this answer; the call was not done.".into(),
                },
                retry_after: self.retry_after.map(whole),
            }),
            drop: self.drop,
            bytes_per_second: self.bytes_per_second.map(whole),
            malformed: self.malformed == Some(true),
        }
    }
}
