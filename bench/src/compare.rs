//! Two sides that take turns, so that other load on the machine slows both alike.

use std::thread;

use crate::wrk::Measured;

/// What the rounds of one comparison measured.
pub(crate) struct Comparison {
    pub(crate) ours: Vec<Measured>,
    pub(crate) reference: Vec<Measured>,
}

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
            comparison.reference.push(reference());
            comparison.ours.push(ours());
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

pub(crate) fn sorted(figures: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures
}

pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}
