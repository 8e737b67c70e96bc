//! What the students of a class get: a CSV file and a page to print.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use askama::Template;
use sandbox::Name;

use crate::{
    Failure,
    control::{Created, SandboxService},
    settings::{Settings, is_local},
};

/// A new file that only its owner can read: it has control tokens.
pub(super) struct Handout {
    file: File,
    path: PathBuf,
    is_written: bool,
}

impl Handout {
    /// Makes the file. An existing file stays: its tokens are shown nowhere else.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        match file {
            Ok(file) => Ok(Handout { file, path: path.to_owned(), is_written: false }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(format!("there is a file {} already; choose another name", path.display()).into())
            }
            Err(error) => Err(format!("cannot write {}: {error}", path.display()).into()),
        }
    }

    pub(super) fn write(mut self, text: &str) -> Result<(), Failure> {
        let written = self.file.write_all(text.as_bytes());
        self.is_written = written.is_ok();
        written.map_err(|error| format!("cannot write {}: {error}", self.path.display()).into())
    }
}

impl Drop for Handout {
    fn drop(&mut self) {
        if !self.is_written {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The sandboxes as CSV (RFC 4180), with a header.
pub(super) fn csv(sandboxes: &[Created]) -> String {
    let services = sandboxes.first().map(|sandbox| sandbox.services.as_slice()).unwrap_or_default();
    let mut header = vec!["name".to_owned(), "control_token".into(), "control_url".into()];
    header
        .extend(services.iter().flat_map(|one| [format!("{}_url", one.name), format!("{}_docs", one.name)]));
    let mut text = line(header.iter().map(String::as_str));
    for Created { name, control_token, control_url, services, .. } in sandboxes {
        let services = services.iter().flat_map(|one| [one.base_url.as_str(), &one.docs]);
        text.push_str(&line([name.as_str(), control_token, control_url].into_iter().chain(services)));
    }
    text
}

fn line<'v>(values: impl Iterator<Item = &'v str>) -> String {
    let quoted = |value: &str| match value.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value.to_owned(),
    };
    values.map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

#[derive(Template)]
#[template(path = "class.html")]
struct Page<'p> {
    class: &'p Name,
    /// The settings of the addresses that only the server's machine can reach.
    local: Vec<String>,
    cards: Vec<Card<'p>>,
}

/// The card of a student.
struct Card<'p> {
    sandbox: &'p Created,
    link: &'p str,
    /// The QR code of the link, as SVG.
    code: String,
    services: Vec<CardService<'p>>,
}

impl<'p> Card<'p> {
    fn new(sandbox: &'p Created) -> Result<Self, Failure> {
        let link = sandbox.link();
        let services = sandbox.services.iter().map(CardService::new).collect();
        Ok(Card { sandbox, link, code: web::qr::svg(link)?, services })
    }
}

struct CardService<'p> {
    title: &'p str,
    base_url: &'p str,
    docs: &'p str,
    sign_in: &'p str,
}

impl<'p> CardService<'p> {
    fn new(service: &'p SandboxService) -> Self {
        let known = Settings::defaults().services().map(|service| service.description());
        let title = known.iter().find(|known| known.name == service.name).map(|known| known.title);
        CardService {
            title: title.unwrap_or(&service.name),
            base_url: &service.base_url,
            docs: &service.docs,
            sign_in: service.sign_in.as_deref().unwrap_or_default(),
        }
    }
}

/// The page to print.
pub(super) fn page(class: &Name, sandboxes: &[Created]) -> Result<String, Failure> {
    let cards = sandboxes.iter().map(Card::new).collect::<Result<_, _>>()?;
    let services = sandboxes.iter().take(1).flat_map(|sandbox| &sandbox.services);
    let local = services.filter(|service| is_local(&service.base_url));
    let local = local.map(|service| format!("{}.address", service.name)).collect();
    Ok(Page { class, local, cards }.render()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_values_are_quoted_if_needed() {
        assert_eq!(line(["a", "b c", "d,e", "f\"g"].into_iter()), "a,b c,\"d,e\",\"f\"\"g\"\r\n");
    }
}
