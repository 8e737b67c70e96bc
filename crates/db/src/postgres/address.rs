//! The address of the server: the URL, completed by PostgreSQL's environment variables.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use percent_encoding::percent_decode_str;
use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};

use super::passfile::{Login, Passfile};
use crate::error::with_source;

/// The default folders of PostgreSQL's sockets; a password file calls them `localhost`.
const SOCKET_FOLDERS: [&str; 3] = ["/run/postgresql", "/var/run/postgresql", "/tmp"];

/// The `sslmode` of the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tls {
    Disable,
    /// If the server offers it; only on this machine.
    Prefer,
    /// Without a check of the certificate.
    Require,
    /// The certificate must come from a known authority.
    VerifyCa,
    /// The certificate must also be for this host.
    VerifyFull,
}

/// The trusted certificate authorities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Roots {
    /// Those that the operating system trusts.
    System,
    File(PathBuf),
}

#[derive(Clone)]
pub(super) struct Address {
    /// All settings except the hosts.
    common: Config,
    pub(super) hosts: Vec<(Host, Option<IpAddr>, u16)>,
    pub(super) tls: Tls,
    pub(super) roots: Roots,
    /// Used if neither the URL nor a variable has a password.
    passfile: Option<Passfile>,
}

impl Address {
    /// `variable` reads environment variables, which set the parts that the URL does not contain: `PGHOST`, `PGUSER` and so
    /// on. Errors do not quote the URL, which may contain a password.
    pub(super) fn parse(
        url: &str,
        wait: Duration,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        // The client library would parse other texts as a list of settings, and quote all of it in its error.
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err("it does not begin with postgres://".into());
        }
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let (url, mode, roots) = take_tls(url);
        // Only the URL can turn encryption off: the variable may be meant for another database.
        let mode = mode.or_else(|| variable("PGSSLMODE").filter(|mode| mode != "disable"));
        let roots = roots.or_else(|| variable("PGSSLROOTCERT"));
        let (tls, roots) = tls(mode.as_deref(), roots)?;
        let mut given: Config = url.parse().map_err(|error| with_source(&error))?;
        if given.get_hosts().is_empty() && given.get_hostaddrs().is_empty() {
            let host = variable("PGHOST").ok_or("it names no host, and PGHOST is not set")?;
            given.host(host);
        }
        if given.get_ports().is_empty()
            && let Some(port) = variable("PGPORT")
        {
            given.port(port.parse().map_err(|_| "PGPORT is no port")?);
        }
        let user = given.get_user().map(str::to_owned).or_else(|| variable("PGUSER"));
        let password = given
            .get_password()
            .map(<[u8]>::to_vec)
            .or_else(|| variable("PGPASSWORD").map(String::into_bytes));
        let database = given.get_dbname().map(str::to_owned).or_else(|| variable("PGDATABASE"));
        let mut common = without_hosts(&given, wait);
        user.map(|user| common.user(user));
        password.map(|password| common.password(password));
        database.map(|database| common.dbname(database));
        Ok(Address { common, hosts: hosts(&given)?, tls, roots, passfile: None })
    }

    /// Reads the password file, `PGPASSFILE` or `~/.pgpass`, if neither the URL nor `PGPASSWORD` has a password.
    pub(super) fn with_passfile(mut self, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let home = || variable("HOME").map(|home| Path::new(&home).join(".pgpass"));
        let file = variable("PGPASSFILE").map(PathBuf::from).or_else(home);
        if let (None, Some(file)) = (self.common.get_password(), file) {
            self.passfile = Passfile::read(&file)?;
        }
        Ok(self)
    }

    /// The same with another host.
    pub(super) fn at(&self, host: &str, port: u16) -> Self {
        Address { hosts: vec![(Host::Tcp(host.to_owned()), None, port)], ..self.clone() }
    }

    fn password(&self, host: &Host, port: u16) -> Option<Vec<u8>> {
        let folder;
        let host = match host {
            Host::Tcp(name) => name,
            Host::Unix(path) if SOCKET_FOLDERS.iter().any(|default| path == Path::new(default)) => {
                "localhost"
            }
            Host::Unix(path) => {
                folder = path.display().to_string();
                &folder
            }
        };
        let user = self.common.get_user().unwrap_or_default();
        let database = self.common.get_dbname().unwrap_or(user);
        self.passfile.as_ref()?.password(&Login { host, port, database, user })
    }

    /// The settings for one host: an IP address, or a Unix socket.
    pub(super) fn config(&self, host: &Host, address: Option<IpAddr>, port: u16) -> Config {
        let mut config = self.common.clone();
        config.port(port).ssl_mode(self.encryption(address));
        match host {
            Host::Tcp(name) => config.host(name),
            Host::Unix(folder) => config.host_path(folder),
        };
        if let Some(address) = address {
            config.hostaddr(address);
        }
        self.password(host, port).map(|password| config.password(password));
        config
    }

    /// Passwords and data are sent unencrypted only on this machine, unless the URL has `sslmode=disable`.
    fn encryption(&self, address: Option<IpAddr>) -> SslMode {
        let is_local = address.is_none_or(|address| address.to_canonical().is_loopback());
        match self.tls {
            Tls::Disable => SslMode::Disable,
            // PostgreSQL has no TLS on Unix sockets.
            _ if address.is_none() => SslMode::Disable,
            Tls::Prefer if is_local => SslMode::Prefer,
            _ => SslMode::Require,
        }
    }
}

fn hosts(given: &Config) -> Result<Vec<(Host, Option<IpAddr>, u16)>, String> {
    let (names, addresses, ports) = (given.get_hosts(), given.get_hostaddrs(), given.get_ports());
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err("it has as many hosts as addresses, or none".into());
    }
    let number = names.len().max(addresses.len());
    if ports.len() > 1 && ports.len() != number {
        return Err("it has as many ports as hosts, or one".into());
    }
    let host = |at: usize| {
        let address = addresses.get(at).copied();
        let name = names.get(at).cloned().or_else(|| address.map(|ip| Host::Tcp(ip.to_string())));
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        name.map(|name| (name, address, port))
    };
    Ok((0..number).filter_map(host).collect())
}

/// The settings without the hosts. Keepalives detect a server that disappears while a connection is idle.
fn without_hosts(given: &Config, wait: Duration) -> Config {
    let default = Config::new().get_keepalives_idle();
    let keepalives_idle = match given.get_keepalives_idle() {
        idle if idle == default => Duration::from_secs(15),
        idle => idle,
    };
    let mut config = Config::new();
    config
        .application_name(given.get_application_name().unwrap_or("triptych"))
        .ssl_negotiation(given.get_ssl_negotiation())
        .channel_binding(given.get_channel_binding())
        .target_session_attrs(given.get_target_session_attrs())
        .connect_timeout(given.get_connect_timeout().copied().unwrap_or(wait))
        .tcp_user_timeout(given.get_tcp_user_timeout().copied().unwrap_or(wait))
        .keepalives(given.get_keepalives())
        .keepalives_idle(keepalives_idle)
        .keepalives_interval(given.get_keepalives_interval().unwrap_or(Duration::from_secs(5)))
        .keepalives_retries(given.get_keepalives_retries().unwrap_or(3));
    given.get_options().map(|options| config.options(options));
    config
}

/// Removes `sslmode` and `sslrootcert` from a URL: the parser of the client library does not know all their values.
fn take_tls(url: &str) -> (String, Option<String>, Option<String>) {
    let (mut mode, mut roots) = (None, None);
    let Some((address, parameters)) = url.split_once('?') else { return (url.to_owned(), mode, roots) };
    let mut rest = Vec::new();
    for parameter in parameters.split('&') {
        match parameter.split_once('=') {
            Some(("sslmode", value)) => mode = Some(decoded(value)),
            Some(("sslrootcert", value)) => roots = Some(decoded(value)),
            _ => rest.push(parameter),
        }
    }
    (format!("{address}?{}", rest.join("&")), mode, roots)
}

/// Decodes percent-encoded text.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The TLS mode. As in libpq, a given certificate authority is checked.
fn tls(mode: Option<&str>, roots: Option<String>) -> Result<(Tls, Roots), String> {
    let roots = roots.map(|roots| if roots == "system" { Roots::System } else { Roots::File(roots.into()) });
    let tls = match (mode, &roots) {
        (None, Some(_)) | (Some("verify-full"), _) => Tls::VerifyFull,
        (Some("verify-ca" | "require" | "prefer"), Some(Roots::System)) => {
            return Err("sslrootcert=system needs sslmode=verify-full".into());
        }
        // Without a check of the name, a certificate of any public authority would be accepted.
        (Some("verify-ca"), None) => return Err("sslmode=verify-ca needs an sslrootcert".into()),
        (Some("verify-ca"), _) | (Some("require"), Some(_)) => Tls::VerifyCa,
        (Some("require"), None) => Tls::Require,
        (Some("prefer") | None, _) => Tls::Prefer,
        (Some("disable"), _) => Tls::Disable,
        (Some(_), _) => {
            return Err("sslmode is disable, prefer, require, verify-ca or verify-full".into());
        }
    };
    Ok((tls, roots.unwrap_or(Roots::System)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Result<Address, String> {
        let known = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Address::parse(url, Duration::from_secs(5), known)
    }

    fn encryption(url: &str, address: &str) -> SslMode {
        parse(url, &[]).unwrap().encryption(Some(address.parse().unwrap()))
    }

    #[test]
    fn connections_to_other_machines_are_encrypted_unless_disabled() {
        for (mode, local, remote) in [
            ("", SslMode::Prefer, SslMode::Require),
            ("?sslmode=prefer", SslMode::Prefer, SslMode::Require),
            ("?sslmode=require", SslMode::Require, SslMode::Require),
            ("?sslmode=verify-ca&sslrootcert=/ca.pem", SslMode::Require, SslMode::Require),
            ("?sslmode=verify-full", SslMode::Require, SslMode::Require),
            ("?sslmode=disable", SslMode::Disable, SslMode::Disable),
        ] {
            let url = format!("postgres://host/base{mode}");
            for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
                assert_eq!(encryption(&url, address), local, "{url} {address}");
            }
            for address in ["10.0.0.1", "0.0.0.0", "192.0.2.1", "2001:db8::1", "::ffff:10.0.0.1"] {
                assert_eq!(encryption(&url, address), remote, "{url} {address}");
            }
            assert_eq!(parse(&url, &[]).unwrap().encryption(None), SslMode::Disable, "a socket");
        }
    }

    #[test]
    fn variables_set_the_parts_that_the_url_does_not_contain() {
        let variables = [
            ("PGHOST", "db.example.com"),
            ("PGPORT", "6543"),
            ("PGUSER", "ada"),
            ("PGPASSWORD", "s3cret"),
            ("PGDATABASE", "engines"),
            ("PGSSLMODE", "verify-ca"),
            ("PGSSLROOTCERT", "/ca.pem"),
        ];
        let found = parse("postgres://", &variables).unwrap();
        assert_eq!(found.hosts, [(Host::Tcp("db.example.com".into()), None, 6543)]);
        assert_eq!((found.tls, found.roots), (Tls::VerifyCa, Roots::File("/ca.pem".into())));
        assert_eq!(found.common.get_user(), Some("ada"));
        assert_eq!(found.common.get_password(), Some("s3cret".as_bytes()));
        assert_eq!(found.common.get_dbname(), Some("engines"));
        let url = "postgres://me:mine@host:1/base?sslmode=verify-full&sslrootcert=%2Fmy%20ca.pem&channel_binding=require";
        let found = parse(url, &variables).unwrap();
        assert_eq!(found.hosts, [(Host::Tcp("host".into()), None, 1)]);
        assert_eq!((found.tls, found.roots), (Tls::VerifyFull, Roots::File("/my ca.pem".into())));
        assert_eq!(found.common.get_user(), Some("me"));
        assert_eq!(found.common.get_password(), Some("mine".as_bytes()));
        assert_eq!(found.common.get_dbname(), Some("base"));
        // Only the URL turns encryption off.
        let found = parse("postgres://host/base", &[("PGSSLMODE", "disable")]).unwrap();
        assert_eq!(found.encryption(Some("192.0.2.1".parse().unwrap())), SslMode::Require);
        let empty = parse("postgres:///base", &[("PGHOST", "")]);
        assert_eq!(empty.err().as_deref(), Some("it names no host, and PGHOST is not set"));
        let socket = parse("postgres://%2Frun%2Fpostgresql/base", &[]).unwrap();
        assert_eq!(socket.hosts, [(Host::Unix("/run/postgresql".into()), None, 5432)]);
    }

    #[test]
    fn password_file_is_read_where_no_other_password_is_given() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".pgpass");
        std::fs::write(&file, "host:5432:base:ada:one\nother:*:*:*:two\nlocalhost:*:ada:ada:three").unwrap();
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, own).unwrap();
        let password = |url: &str, name: &str, value: &Path| {
            let known = |asked: &str| (asked == name).then(|| value.display().to_string());
            let found =
                Address::parse(url, Duration::from_secs(5), known).unwrap().with_passfile(known).unwrap();
            let given = found.hosts.iter().map(|(host, address, port)| {
                let config = found.config(host, *address, *port);
                config.get_password().map(|password| String::from_utf8(password.to_vec()).unwrap())
            });
            given.map(Option::unwrap_or_default).collect::<Vec<_>>()
        };
        for (name, value) in [("HOME", home.path()), ("PGPASSFILE", file.as_path())] {
            assert_eq!(password("postgres://ada@host,other:1,third/base", name, value), ["one", "two", ""]);
            assert_eq!(password("postgres://ada:mine@host/base", name, value), ["mine"]);
            assert_eq!(password("postgres://ada@%2Frun%2Fpostgresql", name, value), ["three"]);
            assert_eq!(password("postgres://ada@%2Fsrv", name, value), [""]);
        }
        assert_eq!(password("postgres://ada@host/base", "PGPASSWORD", Path::new("set")), ["set"]);
        assert_eq!(password("postgres://ada@host/base", "PGPASSFILE", Path::new("/missing")), [""]);
    }

    #[test]
    fn given_authority_is_checked() {
        let of = |query: &str| parse(&format!("postgres://host/base?{query}"), &[]).map(|found| found.tls);
        assert_eq!(of("sslrootcert=/ca.pem"), Ok(Tls::VerifyFull));
        assert_eq!(of("sslmode=require&sslrootcert=/ca.pem"), Ok(Tls::VerifyCa));
        assert_eq!(of("sslmode=disable&sslrootcert=/ca.pem"), Ok(Tls::Disable));
        assert_eq!(of("sslrootcert=system"), Ok(Tls::VerifyFull));
        assert_eq!(of("sslmode=verify-full"), Ok(Tls::VerifyFull));
        assert_eq!(of("sslmode=verify-ca&sslrootcert=/ca.pem"), Ok(Tls::VerifyCa));
        assert_eq!(of("sslmode=verify-ca").err().as_deref(), Some("sslmode=verify-ca needs an sslrootcert"));
        let weak = of("sslmode=require&sslrootcert=system");
        assert_eq!(weak.err().as_deref(), Some("sslrootcert=system needs sslmode=verify-full"));
        let unknown = of("sslmode=perhaps");
        assert_eq!(
            unknown.err().as_deref(),
            Some("sslmode is disable, prefer, require, verify-ca or verify-full")
        );
    }
}
