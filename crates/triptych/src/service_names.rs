//! The names that an argument can have: those of services, and of what can be pruned.

use clap::builder::PossibleValuesParser;
use service::Description;

use crate::settings::Settings;

/// The names of the services that an argument can have.
pub(crate) fn names(filter: impl Fn(&Description) -> bool) -> PossibleValuesParser {
    let all = Settings::defaults().services().map(|service| service.description());
    PossibleValuesParser::new(all.into_iter().filter(|service| filter(service)).map(|service| service.name))
}

/// The names of what can be pruned.
pub(crate) fn prunings() -> PossibleValuesParser {
    let services = Settings::defaults().services().map(|service| service.description());
    PossibleValuesParser::new(
        services.iter().flat_map(|service| service.prunings).map(|pruning| pruning.name),
    )
}

pub(crate) fn has_oauth(service: &Description) -> bool {
    service.oauth.is_some()
}
