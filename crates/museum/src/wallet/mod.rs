//! Passes for Apple Wallet: a ticket as a signed file.

mod demo;
mod images;
mod pass;
mod settings;
mod sign;

use db::Db;
use tokio::sync::OnceCell;
use web::{Clock, Problem, Random, Result};

use crate::{SettingsError, settings::WalletSettings};
pub(crate) use pass::PassContent;
use sign::Signer;

/// The media type of a pass.
pub(crate) const PKPASS: &str = "application/vnd.apple.pkpass";

/// The issuer of passes: its certificate, and the names under which Apple knows it.
pub(crate) struct Issuer {
    signer: Signer,
    pass_type_identifier: String,
    team_identifier: String,
}

/// Issues passes, if the museum has a certificate or is a demo.
pub(crate) enum Wallet {
    Closed,
    Configured(Issuer),
    /// With a self-signed certificate, which is made at its first use.
    Demo(OnceCell<Issuer>),
}

impl Wallet {
    /// Reads the certificate that the settings name.
    pub(crate) fn open(settings: &WalletSettings, demo: bool) -> Result<Self, SettingsError> {
        if !settings.is_set() {
            return Ok(if demo { Wallet::Demo(OnceCell::new()) } else { Wallet::Closed });
        }
        settings::issuer(settings).map(Wallet::Configured).map_err(SettingsError)
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, Wallet::Closed)
    }

    /// A pass, signed.
    pub(crate) async fn pass(
        &self,
        content: &PassContent,
        db: &Db,
        clock: &Clock,
        random: &Random,
    ) -> Result<Vec<u8>> {
        let issuer = match self {
            Wallet::Closed => return Err(Problem::internal("passes are not offered")),
            Wallet::Configured(issuer) => issuer,
            Wallet::Demo(issuer) => issuer.get_or_try_init(|| demo::issuer(db, random)).await?,
        };
        pass::file(content, issuer, clock.now()).map_err(Problem::internal)
    }
}
