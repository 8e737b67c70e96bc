//! The flags of the command line that are settings.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Serialize, Serializer};

/// The flags that are settings, in the shape of the settings file; a flag that is absent says nothing.
#[derive(Serialize)]
pub(crate) struct Flags {
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) database: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) database_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) database_replica: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) today: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) admin_listen: Option<String>,
    /// Not on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls_certificate: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls_key: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "on_or_off")]
    pub(crate) demo: Option<bool>,
    #[serde(flatten)]
    pub(crate) services: BTreeMap<&'static str, ServiceSection>,
}

#[expect(clippy::ref_option, reason = "serde hands it over this way")]
fn on_or_off<S: Serializer>(demo: &Option<bool>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *demo == Some(true) { "on" } else { "off" })
}

/// The flags of one service.
#[derive(Debug, Serialize)]
pub(crate) struct ServiceSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) listen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oauth: Option<OauthSection>,
}

#[derive(Debug, Serialize)]
pub(crate) struct OauthSection {
    pub(crate) issuer: String,
}
