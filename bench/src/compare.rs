//! Two sides that take turns, so that other load on the machine slows both alike.

use std::{thread, time::Duration};

use crate::wrk::Measured;

/// What the rounds of one comparison measured.
pub(crate) struct Comparison {
    pub(crate) ours: Vec<Measured>,
    pub(crate) reference: Vec<Measured>,
}

/// How often each side has its turn in a round. On a shared machine the speed of a core changes every few seconds: short turns give
/// both sides the same share of fast and slow seconds.
const TURNS: usize = 3;

impl Comparison {
    /// Measures both sides by turns; a single round at the same time, which shows only that both can be measured.
    pub(crate) fn measure(
        rounds: usize,
        ours: impl Fn() -> Measured + Sync,
        reference: impl Fn() -> Measured,
    ) -> Self {
        if rounds == 1 {
            return thread::scope(|scope| {
                let ours = scope.spawn(&ours);
                let reference = vec![reference()];
                Comparison { ours: vec![ours.join().expect("a measurement")], reference }
            });
        }
        let mut comparison = Comparison { ours: Vec::new(), reference: Vec::new() };
        for _ in 0..rounds {
            let turns: Vec<_> = (0..TURNS).map(|_| (reference(), ours())).collect();
            comparison.reference.push(mean(turns.iter().map(|turn| turn.0)));
            comparison.ours.push(mean(turns.iter().map(|turn| turn.1)));
        }
        comparison
    }

    /// Our rate as a share of the reference's, one figure per round in order of size.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        sorted(self.ours.iter().zip(&self.reference).map(|(ours, reference)| ours.rate / reference.rate))
    }

    /// Our 99th percentile as a multiple of the reference's.
    pub(crate) fn p99_ratio(&self) -> f64 {
        let pairs = self.ours.iter().zip(&self.reference);
        median(&sorted(pairs.map(|(ours, reference)| ours.p99.as_secs_f64() / reference.p99.as_secs_f64())))
    }

    pub(crate) fn ratio(&self) -> f64 {
        median(&self.ratios())
    }

    pub(crate) fn our_rate(&self) -> f64 {
        median(&sorted(self.ours.iter().map(|measured| measured.rate)))
    }

    pub(crate) fn reference_rate(&self) -> f64 {
        median(&sorted(self.reference.iter().map(|measured| measured.rate)))
    }
}

/// One figure for the turns of a round.
fn mean(turns: impl Iterator<Item = Measured>) -> Measured {
    let (rate, p99) =
        turns.fold((0.0, Duration::ZERO), |(rate, p99), turn| (rate + turn.rate, p99 + turn.p99));
    Measured { rate: rate / TURNS as f64, p99: p99 / TURNS as u32 }
}

pub(crate) fn sorted(figures: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures
}

pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}
