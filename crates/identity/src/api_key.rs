//! API keys: secrets by which programs authenticate.

use db::{Db, Error};
use web::{Clock, Random};

use crate::secret;

/// The API keys of a service. Cloning it is cheap.
#[derive(Clone)]
pub struct ApiKeys {
    demo: bool,
    db: Db,
    clock: Clock,
    random: Random,
}

impl ApiKeys {
    /// The keys in `db`. Demo keys are valid only if `demo` is set.
    pub fn new(demo: bool, db: Db, clock: Clock, random: Random) -> Self {
        ApiKeys { demo, db, clock, random }
    }

    /// Adds a key of this name and returns it; only its hash is stored. `None` when the name is taken.
    pub async fn add(&self, name: &str) -> Result<Option<String>, Error> {
        let key = secret::new(&self.random);
        Ok(self.insert(name, &key, false).await?.then_some(key))
    }

    /// Adds a well-known key, unless it exists. It is valid in demo mode only.
    pub async fn add_demo(&self, name: &str, key: &str) -> Result<(), Error> {
        self.insert(name, key, true).await.map(drop)
    }

    async fn insert(&self, name: &str, key: &str, demo: bool) -> Result<bool, Error> {
        let (name, hash, now) = (name.to_owned(), secret::hash(key), self.clock.now());
        self.db
            .write(move |tx| {
                let added = tx.execute(
                    "INSERT INTO api_key (hash, name, demo, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                    &[hash.as_slice().into(), (&name).into(), demo.into(), now.into()],
                )?;
                Ok(added == 1)
            })
            .await
    }

    /// Removes a key; `false` when there is none of that name.
    pub async fn remove(&self, name: &str) -> Result<bool, Error> {
        let name = name.to_owned();
        self.db
            .write(move |tx| Ok(tx.execute("DELETE FROM api_key WHERE name = $1", &[(&name).into()])? == 1))
            .await
    }

    /// Whether a key is valid.
    pub async fn is_valid(&self, key: &str) -> Result<bool, Error> {
        Ok(self.name_of(key).await?.is_some())
    }

    /// The name of a key, if it is valid.
    pub async fn name_of(&self, key: &str) -> Result<Option<String>, Error> {
        let (hash, demo) = (secret::hash(key), self.demo);
        let found = self
            .db
            .read(move |tx| {
                tx.row("SELECT demo, name FROM api_key WHERE hash = $1", &[hash.as_slice().into()], |row| {
                    Ok((row.get::<bool>(0)?, row.get::<String>(1)?))
                })
            })
            .await?;
        Ok(found.filter(|(for_demo, _)| !for_demo || demo).map(|(_, name)| name))
    }
}
