//! The certificate and the key of passes, from the files that the settings name.

use std::fs;

use aws_lc_rs::rsa::KeyPair;
use der::Decode;
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject},
};
use x509_cert::Certificate;

use super::{Issuer, sign::Signer};
use crate::settings::WalletSettings;

/// The issuer in the settings; else the setting that is wrong, and why.
pub(super) fn issuer(settings: &WalletSettings) -> Result<Issuer, String> {
    settings.check()?;
    let WalletSettings { certificate_file, key_file, intermediate_file, .. } = settings;
    let [certificate] = <[_; 1]>::try_from(certificates("certificate_file", certificate_file)?)
        .map_err(|all| format!("wallet.certificate_file must have one certificate, not {}", all.len()))?;
    let intermediates = certificates("intermediate_file", intermediate_file)?;
    let key = key(key_file)?;
    let signer = Signer::new(certificate, intermediates, key).map_err(|error| format!("wallet: {error}"))?;
    let signer = signer.ok_or("wallet.key_file is not the key of wallet.certificate_file")?;
    Ok(Issuer {
        signer,
        pass_type_identifier: settings.pass_type_identifier.clone(),
        team_identifier: settings.team_identifier.clone(),
    })
}

fn read(name: &str, file: &str) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("wallet.{name} is {file:?}, which cannot be read: {error}"))
}

fn certificates(name: &str, file: &str) -> Result<Vec<Certificate>, String> {
    let wrong = |why: String| format!("wallet.{name} is {file:?}, which is not a certificate in PEM: {why}");
    let bytes = read(name, file)?;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() {
        return Err(wrong("it has none".into()));
    }
    found.iter().map(|one| Certificate::from_der(one).map_err(|error| wrong(error.to_string()))).collect()
}

fn key(file: &str) -> Result<KeyPair, String> {
    let wrong = |why: String| {
        format!("wallet.key_file is {file:?}, which is not an RSA key in PEM without a passphrase: {why}")
    };
    let key =
        PrivateKeyDer::from_pem_slice(&read("key_file", file)?).map_err(|error| wrong(error.to_string()))?;
    let pair = match &key {
        PrivateKeyDer::Pkcs8(key) => KeyPair::from_pkcs8(key.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(key) => KeyPair::from_der(key.secret_pkcs1_der()),
        _ => return Err(wrong("it is another kind of key".into())),
    };
    pair.map_err(|error| wrong(error.to_string()))
}
