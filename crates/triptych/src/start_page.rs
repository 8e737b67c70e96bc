//! The start page: the addresses of the services, and how to sign in.

use std::net::SocketAddr;

use service::{DemoCredentials, Scheme, public_address};

use crate::table::table;

#[derive(Clone)]
pub(crate) struct Started {
    pub(crate) name: &'static str,
    /// The public address.
    pub(crate) address: String,
    pub(crate) prefix: &'static str,
    /// How to sign in, if the service has something to say about it.
    pub(crate) sign_in: Option<String>,
    /// What signs in to the demo.
    pub(crate) demo: Option<DemoCredentials>,
}

pub(crate) fn page(services: &[Started], admin: SocketAddr, data_location: &str, demo: bool) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let data = if demo { "with demo data" } else { "without demo data" };
    let mut rows = vec![["service".to_owned(), "address".into(), "documentation".into(), "sign in".into()]];
    for service in services {
        let address = &service.address;
        let sign_in =
            service.sign_in.clone().unwrap_or_else(|| "accounts of its own; see triptych user --help".into());
        rows.push([
            service.name.into(),
            format!("{address}{}", service.prefix),
            format!("{address}/docs"),
            sign_in,
        ]);
    }
    let admin = public_address("", Scheme::Http, admin);
    let console = if demo { "none on this machine" } else { "the token that triptych sandbox token prints" };
    rows.push(["console".into(), format!("{admin}/"), String::new(), console.into()]);
    rows.push(["metrics".into(), format!("{admin}/metrics"), String::new(), String::new()]);
    let mut page = format!("Triptych {version}, {data}, {data_location}\n\n{}", table(&rows));
    page.push_str("\nReady. Press Ctrl-C to stop.\n");
    page
}
