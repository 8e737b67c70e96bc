//! The id of a trip: a UUID made of the train's number and the day, so that it is the same on every installation, and so that the
//! trip can be found by it without any list of all trips.

use jiff::{ToSpan, civil::Date};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// The part of a trip's id that identifies the train.
pub(super) type Key = [u8; 9];

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

pub(super) fn key(number: &str) -> Key {
    let digest = Sha256::digest(number);
    let mut key = Key::default();
    key.copy_from_slice(&digest[..9]);
    key
}

/// Six bytes of the key, the version, three bytes of the key after the variant, the day.
pub(super) fn of(key: &Key, date: Date) -> Uuid {
    let days = date.since(EPOCH).map_or(0, |span| span.get_days());
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&key[..6]);
    bytes[9..12].copy_from_slice(&key[6..]);
    bytes[12..].copy_from_slice(&days.to_be_bytes());
    Builder::from_custom_bytes(bytes).into_uuid()
}

/// The train and the day of a trip's id; `None` for any other UUID.
pub(super) fn parts(id: Uuid) -> Option<(Key, Date)> {
    let bytes = id.as_bytes();
    let mut key = Key::default();
    key[..6].copy_from_slice(&bytes[..6]);
    key[6..].copy_from_slice(&bytes[9..12]);
    let days = i32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
    // Rejects days outside of the calendar, or before the epoch.
    let date = (0..3_000_000).contains(&days).then(|| EPOCH.checked_add(days.days()).ok())??;
    Some((key, date))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_has_the_train_and_the_day() {
        let day = jiff::civil::date(2026, 11, 15);
        let id = of(&key("ICE 595"), day);
        assert_eq!(id.to_string(), "ace22aa1-fb2a-8000-80de-b14f00005124");
        assert_eq!(parts(id), Some((key("ICE 595"), day)));
        assert_ne!(of(&key("ICE 595"), day.tomorrow().unwrap()), id);
        assert_ne!(of(&key("ICE 596"), day), id);
        assert_eq!(parts(Uuid::max()), None);
    }
}
