//! The personal data that a service stores of a user: exported as one document, or erased with the account.

use std::io;

use db::{Db, Error, Keyed, WriteTx};
use identity::{
    ChangeError,
    account::{self, Name},
    personal_data as identity_data,
};
use serde_json::json;
use uuid::Uuid;

use crate::{Description, Erase, Instance, PersonalData};

/// What every service stores of its users.
const OF_USERS: &[PersonalData] =
    &[PersonalData { name: "calls", export: identity_data::calls, erase: Some(identity_data::erase_calls) }];

/// What a service with OAuth stores of its users. All of it is deleted with the account.
const OF_OAUTH: &[PersonalData] = &[
    PersonalData { name: "sessions", export: identity_data::sessions, erase: None },
    PersonalData { name: "grants", export: identity_data::grants, erase: None },
    PersonalData { name: "codes", export: identity_data::codes, erase: None },
    PersonalData { name: "refresh_tokens", export: identity_data::refresh_tokens, erase: None },
];

/// Why a user's data was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("there is no such account")]
    Unknown,
    #[error(transparent)]
    Db(#[from] Error),
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl Description {
    /// Every kind of personal data of the service.
    fn all_personal_data(&self) -> impl Iterator<Item = &'static PersonalData> + use<> {
        let of_oauth = if self.oauth.is_some() { OF_OAUTH } else { &[] };
        OF_USERS.iter().chain(of_oauth).chain(self.personal_data)
    }

    /// Writes all personal data of a user as one JSON document, a row in each line. It is read in pages, so that a user can have any
    /// amount of it.
    pub async fn export_user(
        &self,
        instance: &Instance,
        name: &str,
        to: &mut (dyn io::Write + Send),
    ) -> Result<(), ExportError> {
        let db = &instance.db;
        let name = Name::new(name).map_err(|_| ExportError::Unknown)?;
        let found = db.snapshot(move |tx| match account::id_of(tx, &name)? {
            Some(id) => Ok(identity_data::account(tx, id)?.map(|account| (id, account))),
            None => Ok::<_, Error>(None),
        });
        let (id, account) = found.await?.ok_or(ExportError::Unknown)?;
        let (service, now) = (json!(self.name), json!(instance.clock.now()));
        write!(to, "{{\n\"service\": {service},\n\"exported_at\": {now},\n\"account\": {account}")?;
        for kind in self.all_personal_data() {
            write!(to, ",\n{}: [", json!(kind.name))?;
            let mut after = Vec::new();
            let mut separator = "\n";
            loop {
                let rows = kind.page(db, id, after).await?;
                let Some(last) = rows.last() else { break };
                after = last.key.clone();
                for row in &rows {
                    write!(to, "{separator}{}", row.document)?;
                    separator = ",\n";
                }
            }
            write!(to, "]")?;
        }
        writeln!(to, "\n}}")?;
        Ok(())
    }

    /// Removes a user and erases the user's personal data, also in the copies of the data, while other processes use the database.
    ///
    /// The account is removed by the last transaction. So a call that was interrupted can be repeated.
    pub async fn erase_user(&self, instance: &Instance, name: &str) -> Result<(), ChangeError> {
        let accounts = self.accounts(instance)?;
        let account = accounts.close(name).await?;
        let erasures: Vec<_> = self.all_personal_data().filter_map(|kind| kind.erase).collect();
        for erase in &erasures {
            let erase = *erase;
            while instance.db.write(move |tx| erase(tx, account)).await? > 0 {}
        }
        self.erase_in_copies(&instance.db, account).await?;
        // Calls that had begun before may have added rows, and a restored copy too.
        let rest = move |tx: &mut WriteTx<'_>, account| erase_all(tx, &erasures, account);
        accounts.remove_with(name, rest).await
    }

    /// Copies are of the service's own tables.
    async fn erase_in_copies(&self, db: &Db, account: Uuid) -> Result<(), Error> {
        let erasures: Vec<_> = self.personal_data.iter().filter_map(|kind| kind.erase).collect();
        if erasures.is_empty() {
            return Ok(());
        }
        for copy in db.copies().await? {
            let erasures = erasures.clone();
            db.change_copy(&copy, self.data_tables, move |tx| erase_all(tx, &erasures, account)).await?;
        }
        Ok(())
    }
}

fn erase_all(tx: &mut WriteTx<'_>, erasures: &[Erase], account: Uuid) -> Result<(), Error> {
    for erase in erasures {
        while erase(tx, account)? > 0 {}
    }
    Ok(())
}

impl PersonalData {
    async fn page(&self, db: &Db, account: Uuid, after: Vec<u8>) -> Result<Vec<Keyed>, Error> {
        let export = self.export;
        db.read_long(move |tx| export(tx, account, &after)).await
    }
}
