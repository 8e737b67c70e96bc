//! The rules that concern several members of a fault rule.

use web::input::Fields;

use super::{Delay, DropPoint, PartialFaultRule};

/// Whether a member was sent with a valid value.
fn sent<T>(member: Option<&Option<T>>) -> bool {
    matches!(member, Some(Some(_)))
}

/// Whether a member is absent. A member with a validation error is neither sent nor absent.
fn absent<T>(member: Option<&Option<T>>) -> bool {
    matches!(member, Some(None))
}

pub(super) fn check(rule: &PartialFaultRule<'_>, fields: &mut Fields<'_>) {
    conditions(rule, fields);
    if absent(rule.status) {
        for (name, is_sent) in [("detail", sent(rule.detail)), ("retry_after", sent(rule.retry_after))] {
            if is_sent {
                fields.fail::<()>(name, "needs status: it is a part of that answer");
            }
        }
    }
    answers(rule, fields);
    if sent(rule.webhook) {
        deliveries(rule, fields);
    }
    if has_no_effect(rule) {
        let others = "delay_ms, drop, bytes_per_second, malformed or webhook";
        fields.fail::<()>("status", format!("is required, or another effect: {others}"));
    }
}

fn conditions(rule: &PartialFaultRule<'_>, fields: &mut Fields<'_>) {
    let conditions =
        [("every", sent(rule.every)), ("first", sent(rule.first)), ("probability", sent(rule.probability))];
    at_most_one(conditions, "a rule has one condition", fields);
    let distributed = match rule.delay_ms {
        None => true,
        Some(delay) => matches!(delay, Some(Delay::Distribution(_))),
    };
    if sent(rule.seed) && absent(rule.probability) && !distributed {
        fields.fail::<()>("seed", "needs a probability, or a delay_ms with a distribution");
    }
}

fn answers(rule: &PartialFaultRule<'_>, fields: &mut Fields<'_>) {
    let closed = matches!(rule.drop, Some(Some(DropPoint::Before | DropPoint::After)));
    if closed && sent(rule.status) {
        fields.fail::<()>("status", "contradicts drop: a connection that is closed gets no answer");
    }
    let faults = [
        ("drop", sent(rule.drop)),
        ("bytes_per_second", sent(rule.bytes_per_second)),
        ("malformed", is_malformed(rule)),
    ];
    at_most_one(faults, "an answer has one fault besides its status", fields);
}

/// Adds a validation error for each member that is sent after the first.
fn at_most_one(members: [(&'static str, bool); 3], why: &str, fields: &mut Fields<'_>) {
    let mut named = members.into_iter().filter(|(_, is_sent)| *is_sent).map(|(name, _)| name);
    if let Some(first) = named.next() {
        for other in named {
            fields.fail::<()>(other, format!("contradicts {first}: {why}"));
        }
    }
}

fn deliveries(rule: &PartialFaultRule<'_>, fields: &mut Fields<'_>) {
    let of_calls = [
        ("operation", sent(rule.operation)),
        ("method", sent(rule.method)),
        ("path", sent(rule.path)),
        ("caller", sent(rule.caller)),
        ("status", sent(rule.status)),
        ("delay_ms", sent(rule.delay_ms)),
        ("drop", sent(rule.drop)),
        ("bytes_per_second", sent(rule.bytes_per_second)),
        ("malformed", is_malformed(rule)),
    ];
    for (name, is_sent) in of_calls {
        if is_sent {
            fields.fail::<()>(name, "contradicts webhook: it is about calls; make two rules");
        }
    }
}

fn is_malformed(rule: &PartialFaultRule<'_>) -> bool {
    rule.malformed == Some(&Some(true))
}

fn has_no_effect(rule: &PartialFaultRule<'_>) -> bool {
    absent(rule.status)
        && absent(rule.delay_ms)
        && absent(rule.drop)
        && absent(rule.bytes_per_second)
        && matches!(rule.malformed, Some(None | Some(false)))
        && absent(rule.webhook)
}
