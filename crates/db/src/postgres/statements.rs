//! The prepared statements of a connection.
//!
//! Each schema has its own statements, and the server keeps each in the memory of the connection. So their number is bounded: the one
//! that was used least recently is closed on the server. The server also remembers every table that a connection has used, for as long
//! as the connection exists; so a connection that has served many schemas is replaced ([`Statements::is_worn`]).

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::service::Service;

/// How many statements a connection has at most: more than all services of a process have together.
const MOST: usize = 512;

/// How many schemas a connection serves.
const MOST_SCHEMAS: usize = 64;

/// The service and the address of a statement: statements are `&'static str`, so an address identifies its text.
type Key = (usize, usize, usize);

pub(super) struct Statements<S> {
    all: HashMap<Key, Entry<S>>,
    /// Counts the uses, to find the least recent one.
    clock: AtomicU64,
    /// The numbers of the services that used the connection.
    services: HashSet<usize>,
}

struct Entry<S> {
    statement: S,
    is_closed: Arc<AtomicBool>,
    used: AtomicU64,
}

impl<S> Default for Statements<S> {
    fn default() -> Self {
        Statements { all: HashMap::new(), clock: AtomicU64::new(0), services: HashSet::new() }
    }
}

fn key(service: &Service, sql: &'static str) -> Key {
    (service.number, sql.as_ptr() as usize, sql.len())
}

impl<S> Statements<S> {
    pub(super) fn get(&self, service: &Service, sql: &'static str) -> Option<&S> {
        let entry = self.all.get(&key(service, sql))?;
        entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(&entry.statement)
    }

    /// Adds a statement, or replaces it.
    pub(super) fn insert(&mut self, service: &Service, sql: &'static str, statement: S) -> &S {
        let key = key(service, sql);
        if self.all.len() >= MOST && !self.all.contains_key(&key) {
            let oldest = self.all.iter().min_by_key(|(_, entry)| entry.used.load(Ordering::Relaxed));
            let oldest = oldest.map(|(key, _)| *key);
            oldest.map(|key| self.all.remove(&key));
        }
        self.services.insert(service.number);
        let used = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed));
        let entry = Entry { statement, is_closed: Arc::clone(&service.is_closed), used };
        &self.all.entry(key).insert_entry(entry).into_mut().statement
    }

    /// Removes the statements of services that were closed; `false` if there are none.
    pub(super) fn forget_closed(&mut self) -> bool {
        let before = self.all.len();
        self.all.retain(|_, entry| !entry.is_closed.load(Ordering::Relaxed));
        self.all.len() < before
    }

    /// Whether the connection should be replaced.
    pub(super) fn is_worn(&self) -> bool {
        self.services.len() > MOST_SCHEMAS
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn texts(number: usize) -> Vec<&'static str> {
        (0..number).map(|number| -> &'static str { format!("SELECT {number}").leak() }).collect()
    }

    fn service() -> Service {
        Service::new("schema".into(), HashSet::new(), None)
    }

    #[test]
    fn least_recently_used_statement_is_removed() {
        let (service, texts) = (service(), texts(MOST + 2));
        let mut statements = Statements::default();
        for (number, sql) in texts[..MOST].iter().enumerate() {
            statements.insert(&service, sql, number);
        }
        assert_eq!(statements.get(&service, texts[0]), Some(&0));
        statements.insert(&service, texts[MOST], MOST);
        assert_eq!(statements.get(&service, texts[1]), None);
        statements.insert(&service, texts[MOST + 1], MOST + 1);
        assert_eq!(statements.get(&service, texts[2]), None);
        assert_eq!(statements.get(&service, texts[0]), Some(&0));
        assert_eq!(statements.all.len(), MOST);
    }

    #[test]
    fn statements_of_a_closed_service_are_removed() {
        let (one, other, texts) = (service(), service(), texts(2));
        let mut statements = Statements::default();
        for service in [&one, &other] {
            statements.insert(service, texts[0], 0);
            statements.insert(service, texts[1], 1);
        }
        assert!(!statements.forget_closed());
        one.is_closed.store(true, Ordering::Relaxed);
        assert!(statements.forget_closed());
        assert_eq!(statements.get(&one, texts[0]), None);
        assert_eq!(statements.get(&other, texts[0]), Some(&0));
        assert_eq!(statements.all.len(), 2);
    }

    #[test]
    fn connection_that_has_served_many_schemas_is_worn() {
        let texts = texts(1);
        let mut statements = Statements::default();
        for _ in 0..MOST_SCHEMAS {
            statements.insert(&service(), texts[0], 0);
            assert!(!statements.is_worn());
        }
        statements.insert(&service(), texts[0], 0);
        assert!(statements.is_worn());
    }
}
