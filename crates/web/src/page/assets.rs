//! The files of pages: style sheets, scripts, images. They are part of the program.

use std::collections::BTreeMap;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, header};
use sha2::{Digest, Sha256};

use super::TOKENS;
use crate::problem::{NOT_FOUND, Problem, Result};

/// A file: its name and its content.
pub type Asset = (&'static str, &'static [u8]);

/// The files that pages of all services have. The style sheet is made of parts.
const SHARED: &[Asset] = &[
    ("api.js", include_bytes!("../../assets/api.js")),
    ("sha256.js", include_bytes!("../../assets/sha256.js")),
    ("signed-in.js", include_bytes!("../../assets/signed-in.js")),
    ("ui.js", include_bytes!("../../assets/ui.js")),
    ("visitor.js", include_bytes!("../../assets/visitor.js")),
    ("wire.js", include_bytes!("../../assets/wire.js")),
];

/// The style sheet of all pages.
const STYLE_SHEET: &str = "pages.css";

/// The files of a service's pages, under an address that changes with their content.
pub struct Assets {
    files: BTreeMap<&'static str, Bytes>,
    /// A part of the hash of all files.
    version: String,
}

impl Assets {
    /// The shared files and these. A style sheet among these is added to the shared one.
    pub fn new(own: &[Asset]) -> Self {
        let is_style = |asset: &&Asset| asset.0.ends_with(".css");
        let mut style = format!("{TOKENS}{}", include_str!("../../assets/pages.css")).into_bytes();
        own.iter().filter(is_style).for_each(|(_, content)| style.extend_from_slice(content));
        let scripts = SHARED.iter().chain(own.iter().filter(|asset| !is_style(asset)));
        let mut files: BTreeMap<_, _> =
            scripts.map(|&(name, content)| (name, Bytes::from_static(content))).collect();
        files.insert(STYLE_SHEET, style.into());
        let mut hash = Sha256::new();
        for (name, content) in &files {
            hash.update(name);
            hash.update(content);
        }
        let version = hash.finalize()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        Assets { files, version }
    }

    /// Where the files are, in the paths of an instance.
    pub fn path(&self) -> String {
        format!("/assets/{}", self.version)
    }

    /// A file. An address with the current version always has the same content.
    pub fn answer(&self, version: &str, name: &str) -> Result<Response> {
        let Some((name, content)) = self.files.get_key_value(name) else {
            return Err(Problem::new(&NOT_FOUND, "There is no file of this name."));
        };
        let lifetime =
            if version == self.version { "public, max-age=31536000, immutable" } else { "no-cache" };
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(media_type(name))),
            (header::CACHE_CONTROL, HeaderValue::from_static(lifetime)),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        Ok((headers, content.clone()).into_response())
    }
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "json")) => "application/json",
        Some((_, "svg")) => "image/svg+xml",
        Some((_, "png")) => "image/png",
        _ => "application/octet-stream",
    }
}
