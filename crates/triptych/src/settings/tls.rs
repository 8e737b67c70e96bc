//! TLS of the services: the files of the certificate and of its key.

use service::Scheme;
use web::Tls;

use super::{Settings, SettingsError};

impl Settings {
    /// What the listeners of the services speak. The admin listener speaks HTTP.
    pub(crate) fn scheme(&self) -> Scheme {
        if self.tls_certificate.as_os_str().is_empty() { Scheme::Http } else { Scheme::Https }
    }

    /// The certificate of the services, if they have TLS.
    pub(crate) fn tls(&self) -> Result<Option<Tls>, SettingsError> {
        match self.scheme() {
            Scheme::Http => Ok(None),
            Scheme::Https => Tls::load(&self.tls_certificate, &self.tls_key).map(Some).map_err(SettingsError),
        }
    }
}

pub(super) fn check(settings: &Settings) -> Result<(), SettingsError> {
    let Settings { tls_certificate, tls_key, .. } = settings;
    if tls_certificate.as_os_str().is_empty() != tls_key.as_os_str().is_empty() {
        return Err(SettingsError("tls_certificate and tls_key belong together; set both or none".into()));
    }
    if settings.scheme() == Scheme::Http {
        return Ok(());
    }
    for service in settings.services() {
        let (name, address) = (service.description().name, service.address());
        if address.starts_with("http://") {
            return Err(SettingsError(format!(
                "{name}.address must begin with https://, because tls_certificate is set, not {address:?}"
            )));
        }
    }
    Ok(())
}
