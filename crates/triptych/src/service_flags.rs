//! The flags of each service: `--petstore-listen`, `--petstore-issuer` and so on.

use std::collections::BTreeMap;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::settings::{OauthSection, ServiceSection, Settings};

/// The flags that are set, by service.
#[derive(Debug, Default)]
pub(crate) struct ServiceFlags(pub(crate) BTreeMap<&'static str, ServiceSection>);

impl Args for ServiceFlags {
    fn augment_args(mut command: Command) -> Command {
        for service in Settings::defaults().services() {
            let (name, title) = (service.description().name, service.description().title_in_a_sentence);
            let listen = format!("Where {title} listens [default: {}]", service.listen());
            command = command.arg(flag(name, "listen", "ADDR", listen));
            if service.oauth().is_some() {
                let issuer =
                    format!("An external issuer whose access tokens {title} accepts instead of its own");
                command = command.arg(flag(name, "issuer", "URL", issuer));
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        ServiceFlags::augment_args(command)
    }
}

fn flag(service: &str, setting: &str, value: &'static str, help: String) -> Arg {
    let long = format!("{service}-{setting}");
    Arg::new(long.clone()).long(long).value_name(value).help(help).global(true)
}

impl FromArgMatches for ServiceFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = ServiceFlags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for service in Settings::defaults().services() {
            let name = service.description().name;
            let get =
                |setting: &str| matches.try_get_one::<String>(&format!("{name}-{setting}")).ok()?.cloned();
            let (listen, issuer) = (get("listen"), get("issuer"));
            // An empty section would replace a value of that name in the file, which is no section.
            if listen.is_some() || issuer.is_some() {
                self.0.insert(
                    name,
                    ServiceSection {
                        listen,
                        address: None,
                        oauth: issuer.map(|issuer| OauthSection { issuer }),
                    },
                );
            }
        }
        Ok(())
    }
}
