//! The self-signed certificate of a demo. It is in the database, which all processes share.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der},
    rand::SystemRandom,
    rsa::{KeyPair, KeySize},
    signature::{KeyPair as _, RSA_PKCS1_SHA256},
};
use db::{Db, Error};
use der::{Decode, Encode, asn1::BitString};
use jiff::Timestamp;
use web::{Problem, Random, Result};
use x509_cert::{
    Certificate, TbsCertificate, Version, name::Name, serial_number::SerialNumber,
    spki::SubjectPublicKeyInfoOwned, time::Validity,
};

use super::{
    Issuer,
    sign::{Signer, rsa, time},
};

const PASS_TYPE: &str = "pass.example.triptych.museum";
const TEAM: &str = "DEMO000000";
const SUBJECT: &str = "CN=Pass Type ID: pass.example.triptych.museum,OU=DEMO000000,O=Triptych demo";

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A certificate and its private key, as they are stored.
struct Stored {
    certificate: Vec<u8>,
    private_key: Vec<u8>,
}

/// The issuer of the demo. Its certificate is made if there is none.
pub(super) async fn issuer(db: &Db, random: &Random) -> Result<Issuer> {
    let stored = match read(db).await? {
        Some(stored) => stored,
        None => {
            let serial = random.bytes();
            let made = tokio::task::spawn_blocking(move || make(serial)).await;
            insert(db, made.map_err(Problem::internal)?.map_err(Problem::internal)?).await?;
            // Another process may have been first.
            read(db).await?.ok_or_else(|| Problem::internal("the certificate of the demo was deleted"))?
        }
    };
    open(&stored).map_err(Problem::internal)
}

async fn read(db: &Db) -> Result<Option<Stored>, Error> {
    db.read(|tx| {
        tx.row("SELECT certificate, private_key FROM pass_certificate WHERE number = 1", &[], |row| {
            Ok(Stored { certificate: row.get(0)?, private_key: row.get(1)? })
        })
    })
    .await
}

/// Stores a certificate, unless there is one.
async fn insert(db: &Db, new: Stored) -> Result<(), Error> {
    db.write(move |tx| {
        tx.execute(
            "INSERT INTO pass_certificate (number, certificate, private_key) VALUES (1, $1, $2) ON CONFLICT DO NOTHING",
            &[new.certificate.as_slice().into(), new.private_key.as_slice().into()],
        )
        .map(drop)
    })
    .await
}

fn open(stored: &Stored) -> Result<Issuer, Cause> {
    let certificate = Certificate::from_der(&stored.certificate)?;
    let key = KeyPair::from_pkcs8(&stored.private_key)?;
    let signer =
        Signer::new(certificate, Vec::new(), key)?.ok_or("the key is not that of the certificate")?;
    Ok(Issuer { signer, pass_type_identifier: PASS_TYPE.into(), team_identifier: TEAM.into() })
}

fn make(serial: [u8; 16]) -> Result<Stored, Cause> {
    let key = KeyPair::generate(KeySize::Rsa2048)?;
    let private_key: Pkcs8V1Der<'_> = key.as_der()?;
    let certificate = self_signed(&key, serial)?.to_der()?;
    Ok(Stored { certificate, private_key: private_key.as_ref().to_vec() })
}

/// A certificate that is valid at every time to which the clock of a demo can be set.
fn self_signed(key: &KeyPair, serial: [u8; 16]) -> Result<Certificate, Cause> {
    let public: PublicKeyX509Der<'_> = key.public_key().as_der()?;
    let name: Name = SUBJECT.parse()?;
    let certificate = TbsCertificate {
        version: Version::V3,
        serial_number: SerialNumber::new(&serial)?,
        signature: rsa(),
        issuer: name.clone(),
        validity: Validity { not_before: time(Timestamp::UNIX_EPOCH)?, not_after: time(Timestamp::MAX)? },
        subject: name,
        subject_public_key_info: SubjectPublicKeyInfoOwned::from_der(public.as_ref())?,
        issuer_unique_id: None,
        subject_unique_id: None,
        extensions: None,
    };
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), &certificate.to_der()?, &mut signature)?;
    let signature = BitString::from_bytes(&signature)?;
    Ok(Certificate { tbs_certificate: certificate, signature_algorithm: rsa(), signature })
}
