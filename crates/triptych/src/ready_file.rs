//! `triptych serve --ready-file`: how a script finds a server that has just started.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;
use service::DemoCredentials;
use tempfile::NamedTempFile;

use crate::start_page::Started;

/// The text of the file.
#[derive(Serialize)]
pub(crate) struct Ready<'s> {
    pub(crate) version: &'static str,
    pub(crate) pid: u32,
    /// The address of metrics and health checks.
    pub(crate) admin: String,
    /// The operator's token, if the server has sandboxes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operator_token: Option<&'s str>,
    /// Where sandboxes are created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandboxes_url: Option<String>,
    /// As in the answer to a new sandbox.
    pub(crate) services: Vec<ReadyService<'s>>,
}

#[derive(Serialize)]
pub(crate) struct ReadyService<'s> {
    name: &'s str,
    base_url: String,
    docs: String,
    openapi: String,
    #[serde(flatten)]
    demo: Option<DemoCredentials>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in: Option<&'s str>,
}

impl<'s> From<&'s Started> for ReadyService<'s> {
    fn from(service: &'s Started) -> Self {
        let Started { name, address, prefix, sign_in, demo } = service;
        ReadyService {
            name,
            base_url: format!("{address}{prefix}"),
            docs: format!("{address}/docs"),
            openapi: format!("{address}/openapi.json"),
            demo: *demo,
            sign_in: sign_in.as_deref(),
        }
    }
}

/// The file; it is removed when this is dropped.
pub(crate) struct ReadyFile {
    path: PathBuf,
    text: Option<String>,
}

impl ReadyFile {
    /// Removes the file of an earlier server, which may have been killed. A folder in which no file can be made is an error now,
    /// before the services start.
    pub(crate) fn new(path: &Path) -> Result<Self, String> {
        let file = ReadyFile { path: path.to_owned(), text: None };
        file.beside().map(drop)?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(format!("cannot replace the ready file {}: {error}", path.display()))
            }
            _ => Ok(file),
        }
    }

    /// A new file in the same folder.
    fn beside(&self) -> Result<NamedTempFile, String> {
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        NamedTempFile::new_in(parent.unwrap_or(Path::new("."))).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("cannot write the ready file {}: {error}", self.path.display())
    }

    /// Writes the file in one step, for its owner only: it has a token.
    pub(crate) fn write(&mut self, ready: &Ready<'_>) -> Result<(), String> {
        let text = serde_json::to_string_pretty(ready).map_err(|error| self.failed(&error.into()))? + "\n";
        let mut file = self.beside()?;
        file.write_all(text.as_bytes()).map_err(|error| self.failed(&error))?;
        file.persist(&self.path).map_err(|error| self.failed(&error.error))?;
        self.text = Some(text);
        Ok(())
    }
}

impl Drop for ReadyFile {
    fn drop(&mut self) {
        // Not the file of another server that was started since.
        let is_own = self.text.is_some() && fs::read_to_string(&self.path).ok() == self.text;
        if is_own {
            let _ = fs::remove_file(&self.path);
        }
    }
}
