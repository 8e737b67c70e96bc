//! The properties that all instances of a service share.

use db::{Db, Migrations};
use identity::{
    Accounts, ChangeError, account,
    oauth::{self, AuthorizationServer, OldKeys, Scope},
};
use jiff::Timestamp;
use secrecy::SecretString;

use crate::{Error, Instance, PersonalData, Pruning};

/// The description of a service.
pub struct Description {
    /// The name in commands, settings, logs, metrics and databases: `petstore`.
    pub name: &'static str,
    /// The title: `Pet store`.
    pub title: &'static str,
    /// The same in a sentence: `the pet store`.
    pub title_in_a_sentence: &'static str,
    /// Where the API's paths begin, `/v3`; empty if they begin at the root.
    pub prefix: &'static str,
    /// A public address as an operator may set it, for messages.
    pub example_address: &'static str,
    /// The tables.
    pub migrations: &'static [Migrations],
    /// The tables with the data of the service, which a reset restores: not accounts, keys, tokens and quotas.
    pub data_tables: &'static [&'static str],
    pub oauth: Option<Oauth>,
    /// Whether clients can authenticate with API keys.
    pub has_api_keys: bool,
    pub gauges: &'static [Gauge],
    pub invariants: &'static [Invariant],
    pub prunings: &'static [Pruning],
    /// What the tables of the service store of a user, besides what identity stores.
    pub personal_data: &'static [PersonalData],
}

/// What is always true of the data of a service. `triptych check` verifies it.
pub struct Invariant {
    /// As a sentence: `The inventory counts the pets of each status.`
    pub sentence: &'static str,
    /// A statement that gives the number of violations.
    pub violations: &'static str,
}

/// A figure of the root instance for the metrics, read from its database from time to time.
pub struct Gauge {
    pub name: &'static str,
    pub help: &'static str,
    pub figure: Figure,
}

/// How a figure is read.
#[derive(Clone, Copy)]
pub enum Figure {
    /// A statement that gives a number.
    Number(&'static str),
    /// A statement that gives a time, or NULL. The figure is how long ago that was, in seconds; 0 for NULL and for the future.
    Age(&'static str),
}

impl Gauge {
    /// Its value now.
    pub async fn read(&self, db: &Db, now: Timestamp) -> Result<f64, db::Error> {
        let figure = self.figure;
        db.read(move |tx| match figure {
            Figure::Number(sql) => Ok(tx.row(sql, &[], |row| row.get::<i64>(0))?.unwrap_or_default() as f64),
            Figure::Age(sql) => {
                let time = tx.row(sql, &[], |row| row.get::<Option<Timestamp>>(0))?.flatten();
                Ok(time.map_or(0.0, |time| now.duration_since(time).as_secs_f64().max(0.0)))
            }
        })
        .await
    }
}

/// How a service uses OAuth.
pub struct Oauth {
    pub scopes: &'static [Scope],
    /// The security scheme of access tokens in the OpenAPI document.
    pub scheme: &'static str,
    /// Whether users can create accounts on a page.
    pub sign_up: bool,
}

impl Description {
    /// The accounts of an instance.
    pub fn accounts(&self, instance: &Instance) -> Result<Accounts, ChangeError> {
        let controls = instance.controls_in_effect();
        let Instance { db, clock, random, demo, hashing, .. } = instance.clone();
        Ok(Accounts::with_hashing(self.title, demo, db, clock, random, hashing)?.controlled_by(controls))
    }

    /// The authorization server of an instance, for commands that manage its clients and tokens.
    pub async fn authorization_server(&self, instance: &Instance) -> Result<AuthorizationServer, Error> {
        let accounts = self.accounts(instance)?;
        let settings = self.server_settings(instance, None);
        let Instance { db, clock, random, .. } = instance.clone();
        Ok(AuthorizationServer::open(settings, accounts, db, clock, random).await?)
    }

    /// Adds these accounts of a demo to an instance where they are missing.
    pub async fn add_demo_accounts(
        &self,
        instance: &Instance,
        users: &[(&str, &str)],
    ) -> Result<(), ChangeError> {
        for (name, password) in users {
            // An instance of accounts is made only for a missing one: it has a hasher of its own.
            if !account::exists(&instance.db, name).await? {
                self.accounts(instance)?.add_demo(name, password).await?;
            }
        }
        Ok(())
    }

    /// Adds the OAuth client of a demo to an instance if it is missing.
    pub async fn add_demo_client(&self, instance: &Instance) -> Result<(), Error> {
        if !oauth::has_demo_clients(&instance.db).await? {
            // It adds the client when it is opened.
            self.authorization_server(instance).await?;
        }
        Ok(())
    }

    /// Makes a new signing key for an instance at once, if the service has signing keys. A running instance with the same controls
    /// uses it from the next call on.
    pub async fn rotate_keys(&self, instance: &Instance, old: OldKeys) -> Result<(), Error> {
        if self.oauth.is_some() {
            let Instance { db, clock, .. } = instance.clone();
            oauth::rotate_keys(db, clock, instance.controls_in_effect(), old).await?;
        }
        Ok(())
    }

    /// Deletes the signing keys of a database that no instance has open, if the service has signing keys. The next instance makes a
    /// key of its own.
    pub async fn delete_keys(&self, db: &Db) -> Result<(), db::Error> {
        if self.oauth.is_some() { oauth::delete_keys(db).await } else { Ok(()) }
    }

    pub(crate) fn server_settings(
        &self,
        instance: &Instance,
        registration_token: Option<SecretString>,
    ) -> oauth::Settings {
        let (scopes, sign_up) =
            self.oauth.as_ref().map_or((&[][..], false), |oauth| (oauth.scopes, oauth.sign_up));
        oauth::Settings {
            name: self.name,
            service: self.title,
            issuer: instance.address.clone(),
            prefix: self.prefix,
            scopes,
            sign_up,
            demo: instance.demo,
            registration_token,
        }
    }
}
