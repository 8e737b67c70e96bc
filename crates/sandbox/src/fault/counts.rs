//! The numbers of matching calls, in a process that alone serves its sandboxes.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use uuid::Uuid;

use super::Rules;

/// How many calls have matched each rule of a sandbox.
#[derive(Debug, Default)]
pub struct Counts(Mutex<HashMap<Uuid, u64>>);

impl Counts {
    /// Counts a call, and returns its number, from 1.
    pub fn next(&self, rule: Uuid) -> u64 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(rule).or_default();
        *count += 1;
        *count
    }

    /// Forgets the rules that a sandbox no longer has.
    pub fn retain(&self, rules: &Rules) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.retain(|rule, _| rules.get(*rule).is_some());
    }
}
