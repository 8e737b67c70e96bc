//! `triptych key …`: the API keys of a service.

use identity::ApiKeys;
use service::Instance;

use crate::{
    Failure,
    cli::{KeyAction, KeyArguments},
    open::open_existing,
    print,
    settings::Settings,
};

pub(crate) fn run(action: &KeyAction, settings: &Settings) -> Result<(), Failure> {
    let (KeyAction::Add(key) | KeyAction::Remove(key)) = action;
    let KeyArguments { service, name } = key;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let service = settings.service(service)?;
        let Instance { db, clock, random, demo, .. } = open_existing(service, settings).await?;
        let keys = ApiKeys::new(demo, db, clock, random);
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
