//! Settings from `TRIPTYCH_…` variables.

use figment::providers::Env;

/// Variables that are no settings: the command line reads them itself, or `triptych sandbox create --env` sets them.
const NOT_SETTINGS: [&str; 8] = [
    "config",
    "webhook_secret",
    "ready_file",
    "server",
    "operator_token",
    "sandbox",
    "control_token",
    "control_url",
];

/// `TRIPTYCH_MUSEUM_LISTEN` is `museum.listen`: the sections are those of the default settings.
pub(super) fn variables(defaults: &str) -> Env {
    let is_setting = |name: &figment::value::UncasedStr| {
        let name = name.as_str().to_ascii_lowercase();
        !NOT_SETTINGS.contains(&name.as_str()) && !is_base_url(&name) && !is_service_link(&name)
    };
    let sections = sections(defaults);
    Env::prefixed("TRIPTYCH_").filter(is_setting).map(move |name| {
        let name = name.as_str().to_ascii_lowercase();
        let section = sections.iter().find_map(|section| {
            let key = name.strip_prefix(&section.replace('.', "_"))?.strip_prefix('_')?;
            Some(format!("{section}.{key}"))
        });
        section.unwrap_or(name).into()
    })
}

/// Whether this is the base URL of a service in a sandbox, as in `TRIPTYCH_PETSTORE_URL`.
fn is_base_url(name: &str) -> bool {
    let services = super::Settings::defaults().services();
    name.strip_suffix("_url").is_some_and(|name| services.iter().any(|one| one.description().name == name))
}

/// The tokens in the environment: the operator's, and that of a sandbox with the name of the sandbox.
pub(crate) struct ControlVariables {
    pub(crate) operator: Option<String>,
    pub(crate) control: Option<String>,
    pub(crate) sandbox: Option<String>,
}

impl ControlVariables {
    pub(crate) fn read() -> Self {
        #[expect(clippy::disallowed_methods, reason = "settings are read here")]
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        ControlVariables {
            operator: variable("TRIPTYCH_OPERATOR_TOKEN"),
            control: variable("TRIPTYCH_CONTROL_TOKEN"),
            sandbox: variable("TRIPTYCH_SANDBOX"),
        }
    }
}

/// The names of the sections, `museum.hours` before `museum`.
fn sections(defaults: &str) -> Vec<String> {
    fn collect(table: &toml::Table, path: &str, found: &mut Vec<String>) {
        for (name, value) in table {
            if let toml::Value::Table(section) = value {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(section, &path, found);
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&toml::from_str(defaults).unwrap_or_default(), "", &mut found);
    found
}

/// Whether this is a variable that Kubernetes sets in all containers for a service named `triptych` or `triptych-…`, such as
/// `TRIPTYCH_SERVICE_HOST`, `TRIPTYCH_PORT=tcp://10.0.0.7:80` or `TRIPTYCH_MUSEUM_PORT_8082_TCP_ADDR`.
fn is_service_link(name: &str) -> bool {
    let name = format!("_{name}");
    if name.ends_with("_service_host") || name.ends_with("_service_port") || name.contains("_service_port_") {
        return true;
    }
    if name.ends_with("_port") {
        #[expect(clippy::disallowed_methods, reason = "settings are read here")]
        let value = std::env::var(format!("TRIPTYCH{}", name.to_ascii_uppercase())).unwrap_or_default();
        return ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme))
            || is_port_link(&name);
    }
    is_port_link(&name)
}

/// Whether a name ends like `_port_8082_tcp` or `_port_8082_tcp_addr`.
fn is_port_link(name: &str) -> bool {
    name.match_indices("_port_").any(|(at, found)| {
        let mut words = name[at + found.len()..].split('_');
        let number = words.next().is_some_and(|word| word.parse::<u16>().is_ok());
        let protocol = words.next().is_some_and(|word| matches!(word, "tcp" | "udp" | "sctp"));
        let part = words.next().is_none_or(|word| matches!(word, "proto" | "port" | "addr"));
        number && protocol && part && words.next().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_sections_are_matched_first() {
        let found = sections("a = 1\n[one]\nb = 2\n[one.inner]\nc = 3\n[two]\nd = 4\n");
        assert_eq!(found, ["one.inner", "one", "two"]);
    }

    #[test]
    fn kubernetes_service_links_are_recognized() {
        for link in [
            "service_host",
            "service_port",
            "service_port_http",
            "museum_service_host",
            "museum_service_port_http",
            "port_8080_tcp",
            "port_8080_tcp_port",
            "port_8080_udp_addr",
            "train_port_53_udp_proto",
        ] {
            assert!(is_service_link(link), "{link}");
        }
        for other in [
            "port",
            "museum_port",
            "museum_listen",
            "port_http_tcp",
            "port_80_icmp",
            "port_80_tcp_x",
            "port_80",
        ] {
            assert!(!is_service_link(other), "{other}");
        }
    }
}
