//! Sandboxes as text.

use std::{fmt::Write, path::Path};

use db::private::quoted;
use jiff::Timestamp;
use serde::Deserialize;

use crate::{
    Failure,
    table::{row, table},
};

/// A sandbox that was created.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Created {
    pub(crate) name: String,
    pub(crate) control_token: String,
    pub(crate) control_url: String,
    pub(crate) expires_at: Timestamp,
    pub(crate) services: Vec<SandboxService>,
}

/// A sandbox that exists.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Info {
    pub(crate) name: String,
    pub(crate) class: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) used_at: Timestamp,
    /// Absent for the root services.
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) services: Vec<SandboxService>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SandboxService {
    pub(crate) name: String,
    pub(crate) base_url: String,
    pub(crate) docs: String,
    pub(crate) sign_in: Option<String>,
}

impl Created {
    pub(crate) fn read(answer: &str) -> Result<Self, Failure> {
        Ok(serde_json::from_str(answer)?)
    }

    pub(super) fn page(&self) -> String {
        let Created { name, control_token, control_url, expires_at, services } = self;
        let services = services_table(services);
        format!(
            "Sandbox {name}\n\n{services}\nControls:      {control_url}\nControl token: {control_token} (shown only now)\n\
             Deleted at {expires_at:.0}, if it is not used before.\n"
        )
    }

    /// Variables for a shell.
    pub(super) fn variables(&self) -> String {
        let path = format!("/sandbox/{}/_control", self.name);
        let server = self.control_url.strip_suffix(&path).unwrap_or_default();
        let mut variables = vec![
            ("SANDBOX".to_owned(), self.name.as_str()),
            ("CONTROL_TOKEN".to_owned(), &self.control_token),
            ("CONTROL_URL".to_owned(), &self.control_url),
            ("SERVER".to_owned(), server),
        ];
        // A shell would run what is not a name.
        let is_name = |service: &&SandboxService| service.name.chars().all(|c| c.is_ascii_alphanumeric());
        let urls = self.services.iter().filter(is_name);
        variables.extend(urls.map(|one| (format!("{}_URL", one.name.to_uppercase()), one.base_url.as_str())));
        let lines =
            variables.iter().map(|(name, value)| format!("export TRIPTYCH_{name}={}\n", shell(value)));
        lines.collect()
    }
}

/// A value as a POSIX shell reads it.
fn shell(value: &str) -> String {
    quoted(Path::new(value))
}

impl Info {
    pub(super) fn page(&self) -> String {
        let Info { name, class, created_at, used_at, expires_at, services } = self;
        let mut page = format!("Sandbox {name}\n\n{}\n", services_table(services));
        if let Some(class) = class {
            let _ = writeln!(page, "Class:   {class}");
        }
        let _ = writeln!(page, "Created: {created_at:.0}\nUsed:    {used_at:.0}");
        if let Some(expires_at) = expires_at {
            let _ = writeln!(page, "Deleted at {expires_at:.0}, if it is not used before.");
        }
        page
    }
}

pub(super) fn list(sandboxes: &[Info]) -> String {
    let mut rows = vec![row(["name", "class", "created", "used", "expires"])];
    rows.extend(sandboxes.iter().map(|one| {
        let class = one.class.as_deref().unwrap_or_default();
        let time = |time: Timestamp| format!("{time:.0}");
        let [created, used] = [one.created_at, one.used_at].map(time);
        let expires = one.expires_at.map(time).unwrap_or_default();
        [one.name.clone(), class.to_owned(), created, used, expires]
    }));
    table(&rows)
}

fn services_table(services: &[SandboxService]) -> String {
    let mut rows = vec![row(["service", "address", "documentation", "sign in"])];
    rows.extend(services.iter().map(|service| {
        let sign_in = service.sign_in.as_deref().unwrap_or_default();
        row([&service.name, &service.base_url, &service.docs, sign_in])
    }));
    table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_hostile_server_run_no_command() {
        let service = |name: &str| {
            let (name, base_url) = (name.to_owned(), "http://a/';id'".to_owned());
            SandboxService { name, base_url, docs: String::new(), sign_in: None }
        };
        let created = Created {
            name: "ada;id".into(),
            control_token: "$(id)".into(),
            control_url: "`id`\nid".into(),
            expires_at: Timestamp::UNIX_EPOCH,
            services: vec![service("petstore"), service("x;id;y")],
        };
        assert_eq!(
            created.variables(),
            "export TRIPTYCH_SANDBOX='ada;id'\nexport TRIPTYCH_CONTROL_TOKEN='$(id)'\n\
             export TRIPTYCH_CONTROL_URL='`id`\nid'\nexport TRIPTYCH_SERVER=\n\
             export TRIPTYCH_PETSTORE_URL='http://a/'\\'';id'\\'''\n"
        );
    }

    #[test]
    fn variables_are_quoted_for_a_shell() {
        assert_eq!(shell("ada-1"), "ada-1");
        assert_eq!(shell("http://127.0.0.1:8080/v3"), "'http://127.0.0.1:8080/v3'");
        assert_eq!(shell("$(id)'s"), r"'$(id)'\''s'");
    }
}
