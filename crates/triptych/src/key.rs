//! `triptych key …`: programs that are let in by a key of their own.

use identity::ApiKeys;
use web::{Clock, Random};

use crate::{
    Failure,
    cli::{KeyAction, KeyArguments, KeyServiceName},
    print, serve,
    settings::Settings,
};

pub(crate) fn run(action: &KeyAction, settings: &Settings) -> Result<(), Failure> {
    let (KeyAction::Add(key) | KeyAction::Remove(key)) = action;
    let KeyArguments { service: KeyServiceName::Petstore, name } = key;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let db = serve::open_existing("petstore", petstore::MIGRATIONS, settings).await?;
        let keys = ApiKeys::new(settings.demo(), db, Clock::system(), Random::system());
        match action {
            KeyAction::Add(_) if name.trim().is_empty() || name.chars().count() > 100 => {
                Err("a key's name must have 1 to 100 characters".into())
            }
            KeyAction::Add(_) => match keys.add(name).await? {
                Some(key) => print(&format!("{key}\n")),
                None => Err(format!("there is a key {name:?} already").into()),
            },
            KeyAction::Remove(_) if keys.remove(name).await? => print(&format!("{name}: removed\n")),
            KeyAction::Remove(_) => Err(format!("there is no key {name:?}").into()),
        }
    })
}
