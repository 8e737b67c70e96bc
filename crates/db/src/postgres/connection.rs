//! One connection with its prepared statements.

use std::{collections::HashMap, time::Duration};

use postgres::{Client, Config, NoTls, Row, Statement, types::ToSql};

use crate::{Error, Value};

/// Settings every connection has unless the URL says otherwise.
pub(super) fn settle(mut config: Config) -> Config {
    if config.get_application_name().is_none() {
        config.application_name("triptych");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(5));
    }
    config
}

pub(crate) struct Connection {
    client: Client,
    // Keyed by address: statements are `&'static str`, so the address is the text.
    prepared: HashMap<(usize, usize), Statement>,
}

impl Connection {
    pub(super) fn open(config: &Config, schema: &str) -> Result<Self, Error> {
        let mut client = config.connect(NoTls)?;
        // Durable commits and our isolation whatever the server's defaults are; read only unless a transaction
        // says otherwise, so that a lone statement of a read cannot write either. The statement timeout keeps a
        // lock that somebody holds from holding our whole pool.
        client.batch_execute(&format!(
            "SET search_path TO {schema}; SET synchronous_commit TO on; SET timezone TO 'UTC'; \
             SET default_transaction_isolation TO 'read committed'; SET default_transaction_read_only TO on; \
             SET statement_timeout TO '30s'"
        ))?;
        Ok(Connection { client, prepared: HashMap::new() })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(super) fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).map_err(Error::from)
    }

    pub(crate) fn query(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(sql, params.len())?;
        Ok(self.client.query(&statement, &borrowed(params))?)
    }

    pub(crate) fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<u64, Error> {
        let statement = self.prepare(sql, params.len())?;
        Ok(self.client.execute(&statement, &borrowed(params))?)
    }

    fn prepare(&mut self, sql: &'static str, given: usize) -> Result<Statement, Error> {
        let key = (sql.as_ptr() as usize, sql.len());
        let statement = match self.prepared.get(&key) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.client.prepare(sql)?;
                self.prepared.insert(key, statement.clone());
                statement
            }
        };
        let named = statement.params().len();
        if named == given { Ok(statement) } else { Err(Error::Parameters { named, given }) }
    }
}

fn borrowed<'a>(params: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}
