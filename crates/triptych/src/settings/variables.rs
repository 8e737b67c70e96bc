//! Settings from `TRIPTYCH_…` variables.

use figment::providers::Env;

/// Variables that are no settings: the command line reads them itself.
const NOT_SETTINGS: [&str; 2] = ["config", "webhook_secret"];

/// `TRIPTYCH_MUSEUM_LISTEN` is `museum.listen`: the sections are known, so no special mark divides them.
const SECTIONS: &[(&str, &str)] = &[
    ("petstore_oauth_", "petstore.oauth."),
    ("petstore_", "petstore."),
    ("train_oauth_", "train.oauth."),
    ("train_", "train."),
    ("museum_hours_", "museum.hours."),
    ("museum_", "museum."),
    ("limits_", "limits."),
];

pub(super) fn variables() -> Env {
    let wanted = |name: &figment::value::UncasedStr| {
        let name = name.as_str().to_ascii_lowercase();
        !NOT_SETTINGS.contains(&name.as_str()) && !is_service_link(&name)
    };
    Env::prefixed("TRIPTYCH_").filter(wanted).map(|name| {
        let name = name.as_str().to_ascii_lowercase();
        let section =
            SECTIONS.iter().find_map(|(prefix, section)| Some((section, name.strip_prefix(prefix)?)));
        section.map_or_else(|| name.clone(), |(section, key)| format!("{section}{key}")).into()
    })
}

/// Whether this is what Kubernetes tells every container of a service named `triptych` or `triptych-…`, as in
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
    fn service_links_are_told_from_settings() {
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
