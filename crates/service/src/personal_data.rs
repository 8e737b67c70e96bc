//! The kinds of personal data that a service stores of its users.

use db::{Error, Keyed, Tx, WriteTx};
use uuid::Uuid;

/// A kind of personal data.
pub struct PersonalData {
    /// Its member of the export: `bookings`.
    pub name: &'static str,
    /// Some of the user's rows after a key, in the order of their keys, without secrets; none at the end.
    pub export: Export,
    /// Erases some of it, and gives how much. It runs again until it finds nothing: a long transaction would stop other writes. `None`:
    /// it is deleted with the account, or erased with another kind.
    pub erase: Option<Erase>,
}

/// Some rows of an account after a key, in the order of their keys.
pub type Export = fn(&mut Tx<'_>, Uuid, &[u8]) -> Result<Vec<Keyed>, Error>;

/// Erases some rows of an account, and gives how many.
pub type Erase = fn(&mut WriteTx<'_>, Uuid) -> Result<u64, Error>;
