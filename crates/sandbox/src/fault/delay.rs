//! Delays: fixed, or random by a distribution.

use std::time::Duration;

use model::Resource;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;
use web::input::{
    Fields,
    rules::{Rule, either, integer, nested},
};

use super::seeded::fraction;

/// The longest delay of a call.
pub const LONGEST_DELAY: Duration = Duration::from_secs(60);

const LONGEST_MS: i64 = 60_000;

/// How long a call is delayed, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    Fixed(i64),
    Distribution(DelayDistribution),
}

/// A random delay in milliseconds: uniform, with `from` and `to`, or normal, with `mean` and `deviation`. No delay is negative, or
/// longer than 60,000.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Resource)]
#[resource(readable, closed, check = is_one_distribution)]
pub struct DelayDistribution {
    /// The shortest delay.
    #[field(rule = integer(0..=LONGEST_MS), example = 100)]
    pub from: Option<i64>,
    /// The longest delay.
    #[field(rule = integer(0..=LONGEST_MS), example = 900)]
    pub to: Option<i64>,
    /// The mean of a normal distribution.
    #[field(rule = integer(0..=LONGEST_MS))]
    pub mean: Option<i64>,
    /// The standard deviation of a normal distribution.
    #[field(rule = integer(0..=LONGEST_MS))]
    pub deviation: Option<i64>,
}

fn is_one_distribution(sent: &PartialDelayDistribution<'_>, fields: &mut Fields<'_>) {
    let (Some(from), Some(to), Some(mean), Some(deviation)) = (sent.from, sent.to, sent.mean, sent.deviation)
    else {
        return;
    };
    let members = [
        ("from", from, "to"),
        ("to", to, "from"),
        ("mean", mean, "deviation"),
        ("deviation", deviation, "mean"),
    ];
    let is_sent = |name: &str| members.iter().any(|(member, value, _)| *member == name && value.is_some());
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        fields.fail::<()>("to", format!("must not be less than from, which is {from}"));
    }
    let (uniform, normal) = (is_sent("from") || is_sent("to"), is_sent("mean") || is_sent("deviation"));
    for (name, value, partner) in members {
        match value {
            None if is_sent(partner) => {
                fields.fail::<()>(name, format!("is required with {partner}"));
            }
            None if name == "from" && !uniform && !normal => {
                fields.fail::<()>(name, "is required, with to; or mean and deviation");
            }
            Some(_) if uniform && normal && matches!(name, "mean" | "deviation") => {
                fields.fail::<()>(name, "contradicts from and to: a delay has one distribution");
            }
            _ => {}
        }
    }
}

pub(super) fn rule() -> impl Rule<Value = Delay> {
    let fixed = integer(0..=LONGEST_MS).then(|_, ms| Some(Delay::Fixed(ms)));
    let random =
        nested::<DelayDistribution>().then(|_, distribution| Some(Delay::Distribution(distribution)));
    either(fixed, random).or_fail(
        "must be milliseconds from 0 to 60000, or an object with from and to, or with mean and deviation",
    )
}

impl Delay {
    /// The delay of a call.
    pub(super) fn of_call(&self, random: &mut impl FnMut() -> u64) -> Duration {
        let ms = match self {
            Delay::Fixed(ms) => *ms as f64,
            Delay::Distribution(distribution) => distribution.of_call(random),
        };
        // Rounded, so that a repeated run has the same delays where the last digit of a logarithm differs.
        let ms = ms.round().clamp(0.0, LONGEST_MS as f64) as u64;
        Duration::from_millis(ms)
    }
}

impl DelayDistribution {
    fn of_call(&self, random: &mut impl FnMut() -> u64) -> f64 {
        match *self {
            DelayDistribution { from: Some(from), to: Some(to), .. } => {
                let (from, to) = (from as f64, to as f64);
                // Up to and including `to`, in whole milliseconds.
                from + (fraction(random) * (to - from + 1.0)).floor()
            }
            DelayDistribution { mean: Some(mean), deviation: Some(deviation), .. } => {
                mean as f64 + deviation as f64 * standard_normal(random)
            }
            _ => 0.0,
        }
    }
}

/// A number of the standard normal distribution, by the method of Box and Muller.
fn standard_normal(random: &mut impl FnMut() -> u64) -> f64 {
    // From above 0 to 1, as 0 has no logarithm.
    let (distance, angle) = (1.0 - fraction(random), fraction(random));
    (-2.0 * distance.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Delay::Fixed(ms) => serializer.serialize_i64(*ms),
            Delay::Distribution(distribution) => distribution.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value.as_i64() {
            Some(ms) => Ok(Delay::Fixed(ms)),
            None => serde_json::from_value(value).map(Delay::Distribution).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::seeded::numbers, *};

    fn delays(delay: Delay) -> Vec<u64> {
        (0..10_000).map(|call| delay.of_call(&mut numbers(3, call)).as_millis() as u64).collect()
    }

    #[test]
    fn uniform_delays_cover_their_range_and_no_more() {
        let distribution = DelayDistribution { from: Some(5), to: Some(8), ..DelayDistribution::default() };
        let delays = delays(Delay::Distribution(distribution));
        let found = |ms| delays.iter().filter(|delay| **delay == ms).count();
        assert_eq!((5..=8).map(found).sum::<usize>(), 10_000);
        assert!((5..=8).all(|ms| (2300..2700).contains(&found(ms))));
    }

    #[test]
    fn normal_delays_have_their_mean_and_deviation() {
        let distribution =
            DelayDistribution { mean: Some(1000), deviation: Some(100), ..DelayDistribution::default() };
        let delays = delays(Delay::Distribution(distribution));
        let mean = delays.iter().sum::<u64>() / 10_000;
        assert!((995..=1005).contains(&mean), "{mean}");
        let within = |ms: u64| delays.iter().filter(|delay| delay.abs_diff(1000) <= ms).count();
        assert!((6700..6960).contains(&within(100)), "{}", within(100));
        assert!((9480..9600).contains(&within(200)), "{}", within(200));
    }

    #[test]
    fn normal_delays_are_neither_negative_nor_longer_than_the_limit() {
        let of = |mean, deviation| {
            let distribution = DelayDistribution {
                mean: Some(mean),
                deviation: Some(deviation),
                ..DelayDistribution::default()
            };
            delays(Delay::Distribution(distribution))
        };
        assert_eq!(of(0, 60_000).iter().min(), Some(&0));
        assert_eq!(of(60_000, 60_000).iter().max(), Some(&60_000));
        assert_eq!(Duration::from_millis(60_000), LONGEST_DELAY);
    }
}
