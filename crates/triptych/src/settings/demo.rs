//! Whether the demo is on. By default it is, while only this machine can reach the services.

use super::{Demo, Settings, address::is_local};

impl Settings {
    /// Whether the demo is on: by the setting, or because only this machine can reach the services.
    pub(crate) fn demo(&self) -> bool {
        match self.demo {
            Demo::On => true,
            Demo::Off => false,
            Demo::Auto => self.opened_by().is_none(),
        }
    }

    /// The first setting that lets other machines reach a service. A reverse proxy on this machine does so too: it connects
    /// from loopback, and is known by the public address or by being trusted.
    pub(crate) fn opened_by(&self) -> Option<String> {
        for service in self.services() {
            let (name, listen, address) = (service.description().name, service.listen(), service.address());
            if !listen.ip().is_loopback() {
                return Some(format!("{name}.listen is {listen}"));
            }
            if !is_local(address) {
                return Some(format!("{name}.address is {address}"));
            }
        }
        (!self.trusted_proxies.is_empty()).then(|| "trusted_proxies is not empty".into())
    }
}

#[cfg(test)]
mod tests {
    use figment::{
        Figment,
        providers::{Format, Toml},
    };

    use super::{super::DEFAULTS, *};

    fn with(file: &str) -> Settings {
        Figment::from(Toml::string(DEFAULTS)).merge(Toml::string(file)).extract().unwrap()
    }

    #[test]
    fn demo_is_on_by_default_only_on_loopback() {
        for (file, opened_by) in [
            ("", None),
            ("admin_listen = \"0.0.0.0:8090\"", None),
            ("[museum]\nlisten = \"[::1]:8082\"\naddress = \"http://localhost:8082\"", None),
            ("[petstore]\nlisten = \"127.9.9.9:1\"\naddress = \"http://127.0.0.1:8080\"", None),
            ("[petstore]\nlisten = \"0.0.0.0:8080\"", Some("petstore.listen is 0.0.0.0:8080")),
            ("[train]\nlisten = \"[::]:8081\"", Some("train.listen is [::]:8081")),
            ("[museum]\nlisten = \"10.0.0.7:8082\"", Some("museum.listen is 10.0.0.7:8082")),
            (
                "[petstore]\naddress = \"https://pets.example.com\"",
                Some("petstore.address is https://pets.example.com"),
            ),
            ("[train]\naddress = \"http://10.0.0.7\"", Some("train.address is http://10.0.0.7")),
            (
                "[museum]\naddress = \"https://museum.example.com\"",
                Some("museum.address is https://museum.example.com"),
            ),
            ("trusted_proxies = [\"127.0.0.1/32\"]", Some("trusted_proxies is not empty")),
        ] {
            let settings = with(file);
            assert_eq!(settings.opened_by().as_deref(), opened_by, "{file}");
            assert_eq!(settings.demo(), opened_by.is_none(), "{file}");
            let asked = Settings { demo: Demo::On, ..settings.clone() };
            assert!(asked.demo(), "{file}");
            assert_eq!(asked.opened_by().as_deref(), opened_by, "{file}");
            let off = Settings { demo: Demo::Off, ..settings };
            assert!(!off.demo(), "{file}");
        }
    }
}
