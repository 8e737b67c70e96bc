//! The file of a pass: a ZIP archive with its data, its images, their hashes and the signature of the hashes.

use std::{
    fmt::Write as _,
    io::{Cursor, Write},
};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{
    Issuer,
    images::{BACKGROUND, images},
};
use crate::ticket::Ticket;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What a pass shows.
pub(crate) struct PassContent {
    pub(crate) ticket: Ticket,
    /// The text of the QR code.
    pub(crate) link: String,
    /// When the day of the ticket ends.
    pub(crate) expires_at: Option<Timestamp>,
}

/// The file of a pass.
pub(super) fn file(content: &PassContent, issuer: &Issuer, now: Timestamp) -> Result<Vec<u8>, Cause> {
    let pass = content.json(issuer).to_string().into_bytes();
    let mut files = vec![("pass.json", pass.as_slice())];
    files.extend(images()?.iter().map(|image| (image.name, image.bytes.as_slice())));
    let hashes: Map<_, _> =
        files.iter().map(|(name, bytes)| ((*name).to_owned(), sha1(bytes).into())).collect();
    let manifest = Value::Object(hashes).to_string().into_bytes();
    let signature = issuer.signer.sign(&manifest, now)?;
    files.extend([("manifest.json", manifest.as_slice()), ("signature", signature.as_slice())]);
    // Images are compressed already.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive.start_file(name, options)?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// The SHA-1 hash, which Apple demands for the manifest. The signature has SHA-256.
fn sha1(bytes: &[u8]) -> String {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes);
    hash.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl PassContent {
    fn json(&self, issuer: &Issuer) -> Value {
        let PassContent { ticket, link, expires_at } = self;
        let [red, green, blue] = BACKGROUND;
        let barcode = json!({
            "format": "PKBarcodeFormatQR",
            "message": link,
            "messageEncoding": "iso-8859-1",
            "altText": ticket.confirmation_code,
        });
        let field = |key: &str, label: &str, value: &str| json!({"key": key, "label": label, "value": value});
        let mut pass = json!({
            "formatVersion": 1,
            "passTypeIdentifier": issuer.pass_type_identifier,
            "teamIdentifier": issuer.team_identifier,
            "serialNumber": ticket.id,
            "organizationName": "Museum",
            "description": format!("Museum ticket: {}", ticket.name()),
            "logoText": "Museum",
            "relevantDate": seconds(ticket.opens_at),
            "foregroundColor": "rgb(255, 255, 255)",
            "labelColor": "rgb(214, 224, 236)",
            "backgroundColor": format!("rgb({red}, {green}, {blue})"),
            // The second member is for systems before iOS 9.
            "barcodes": [barcode],
            "barcode": barcode,
            "eventTicket": {
                "primaryFields": [field("event", "EVENT", &ticket.name())],
                "secondaryFields": [field("date", "DATE", &ticket.date.to_string())],
                "backFields": [field("code", "Confirmation code", &ticket.confirmation_code)],
            },
        });
        if let Some(expires_at) = expires_at {
            pass["expirationDate"] = seconds(*expires_at).into();
        }
        pass
    }
}

/// A time without fractions of a second, which Wallet does not read.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
