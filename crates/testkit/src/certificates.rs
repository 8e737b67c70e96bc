//! Certificates for servers of tests.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Issues certificates. A client that trusts it accepts them.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate and its key, in PEM.
pub struct Certificate {
    pub pem: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// Its own certificate, in PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for these host names and addresses.
    pub fn issue(&self, names: &[&str]) -> Certificate {
        let key = KeyPair::generate().expect("a key");
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let params = CertificateParams::new(names).expect("names");
        let pem = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        Certificate { pem, key: key.serialize_pem() }
    }
}
