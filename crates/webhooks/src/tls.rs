//! The TLS of deliveries.

use std::sync::{Arc, LazyLock};

use rustls::{ClientConfig, Error, crypto::aws_lc_rs};
use rustls_platform_verifier::BuilderVerifierExt;

/// All databases of a process share it: the certificates that the machine trusts take milliseconds to read, and hundreds of kilobytes.
static CONFIG: LazyLock<Result<ClientConfig, Error>> = LazyLock::new(|| {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = config.with_platform_verifier()?.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
});

pub(crate) fn config() -> Result<ClientConfig, Error> {
    CONFIG.clone()
}
