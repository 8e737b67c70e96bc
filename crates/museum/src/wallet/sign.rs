//! The signature of a pass: detached CMS SignedData (RFC 5652) over its manifest.

use aws_lc_rs::{
    digest::{SHA256, digest},
    encoding::{AsDer, PublicKeyX509Der},
    rand::SystemRandom,
    rsa::KeyPair,
    signature::{KeyPair as _, RSA_PKCS1_SHA256},
};
use cms::{
    cert::{CertificateChoices, IssuerAndSerialNumber},
    content_info::{CmsVersion, ContentInfo},
    signed_data::{
        CertificateSet, EncapsulatedContentInfo, SignedData, SignerIdentifier, SignerInfo, SignerInfos,
    },
};
use der::{
    Any, DateTime, Decode, Encode, Tag,
    asn1::{GeneralizedTime, ObjectIdentifier, OctetString, SetOfVec, UtcTime},
};
use jiff::Timestamp;
use x509_cert::{Certificate, attr::Attribute, spki::AlgorithmIdentifierOwned, time::Time};

const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");
const SIGNING_TIME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.5");
const SHA_256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const SHA_256_WITH_RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11");

/// Why a pass cannot be signed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignError {
    #[error("cannot write the signature: {0}")]
    Der(#[from] der::Error),
    #[error("the key cannot sign: {0}")]
    Key(#[from] aws_lc_rs::error::Unspecified),
}

/// Signs passes.
pub(crate) struct Signer {
    certificate: Certificate,
    /// The certificates that issued it, without the root.
    intermediates: Vec<Certificate>,
    key: KeyPair,
}

impl Signer {
    /// `None` if the key is not the key of the certificate.
    pub(crate) fn new(
        certificate: Certificate,
        intermediates: Vec<Certificate>,
        key: KeyPair,
    ) -> Result<Option<Self>, SignError> {
        let public: PublicKeyX509Der<'_> = key.public_key().as_der()?;
        let is_pair = certificate.tbs_certificate.subject_public_key_info.to_der()? == public.as_ref();
        Ok(is_pair.then_some(Signer { certificate, intermediates, key }))
    }

    /// The signature of these bytes at this time, without the bytes.
    pub(crate) fn sign(&self, content: &[u8], now: Timestamp) -> Result<Vec<u8>, SignError> {
        let digest = digest(&SHA256, content);
        let attributes = SetOfVec::try_from(vec![
            attribute(CONTENT_TYPE, Any::encode_from(&DATA)?)?,
            attribute(SIGNING_TIME, Any::encode_from(&time(now)?)?)?,
            attribute(MESSAGE_DIGEST, Any::new(Tag::OctetString, digest.as_ref())?)?,
        ])?;
        let mut signature = vec![0; self.key.public_modulus_len()];
        let random = SystemRandom::new();
        self.key.sign(&RSA_PKCS1_SHA256, &random, &attributes.to_der()?, &mut signature)?;
        let certificate = &self.certificate.tbs_certificate;
        let signer = SignerInfo {
            version: CmsVersion::V1,
            sid: SignerIdentifier::IssuerAndSerialNumber(IssuerAndSerialNumber {
                issuer: certificate.issuer.clone(),
                serial_number: certificate.serial_number.clone(),
            }),
            digest_alg: AlgorithmIdentifierOwned { oid: SHA_256, parameters: None },
            signed_attrs: Some(attributes),
            signature_algorithm: rsa(),
            signature: OctetString::new(signature)?,
            unsigned_attrs: None,
        };
        let certificates = [&self.certificate].into_iter().chain(&self.intermediates);
        let certificates: Vec<_> =
            certificates.map(|one| CertificateChoices::Certificate(one.clone())).collect();
        let signed = SignedData {
            version: CmsVersion::V1,
            digest_algorithms: SetOfVec::try_from(vec![signer.digest_alg.clone()])?,
            encap_content_info: EncapsulatedContentInfo { econtent_type: DATA, econtent: None },
            certificates: Some(CertificateSet(SetOfVec::try_from(certificates)?)),
            crls: None,
            signer_infos: SignerInfos(SetOfVec::try_from(vec![signer])?),
        };
        let message = ContentInfo { content_type: SIGNED_DATA, content: Any::from_der(&signed.to_der()?)? };
        Ok(message.to_der()?)
    }
}

fn attribute(oid: ObjectIdentifier, value: Any) -> Result<Attribute, der::Error> {
    Ok(Attribute { oid, values: SetOfVec::try_from(vec![value])? })
}

/// RSA with SHA-256, as certificates and signatures name it.
pub(crate) fn rsa() -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned { oid: SHA_256_WITH_RSA, parameters: Some(Any::null()) }
}

/// A time in the form that X.509 and CMS demand for its year. The forms have no time before 1970.
pub(crate) fn time(time: Timestamp) -> Result<Time, der::Error> {
    let seconds = u64::try_from(time.as_second()).unwrap_or_default();
    let time = DateTime::from_unix_duration(std::time::Duration::from_secs(seconds))?;
    match UtcTime::from_date_time(time) {
        Ok(time) => Ok(Time::UtcTime(time)),
        Err(_) => Ok(Time::GeneralTime(GeneralizedTime::from_date_time(time))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_the_form_of_its_year() {
        let at = |text: &str| {
            let time = time(text.parse().unwrap()).unwrap();
            (matches!(time, Time::UtcTime(_)), time.to_unix_duration().as_secs())
        };
        assert_eq!(at("2026-05-13T10:00:00.9Z"), (true, 1_778_666_400));
        assert_eq!(at("2049-12-31T23:59:59Z"), (true, 2_524_607_999));
        assert_eq!(at("2050-01-01T00:00:00Z"), (false, 2_524_608_000));
        assert_eq!(at("9999-12-30T00:00:00Z"), (false, 253_402_128_000));
        assert_eq!(at("1969-12-31T23:59:59Z"), (true, 0));
        assert_eq!(at("-000005-01-01T00:00:00Z"), (true, 0));
    }
}
