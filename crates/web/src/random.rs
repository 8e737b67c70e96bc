//! The random source: identifiers, codes, salts.

use jiff::Timestamp;
use rand::Rng;
use uuid::Uuid;

/// A source of random bytes fit for secrets.
#[derive(Clone, Debug)]
pub struct Random(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    #[cfg(test)]
    Seeded(std::sync::Arc<std::sync::Mutex<rand::rngs::StdRng>>),
}

impl Random {
    /// A cryptographic generator per thread, seeded by the operating system.
    pub fn system() -> Self {
        Random(Source::System)
    }

    /// The same bytes for the same seed.
    #[cfg(test)]
    fn seeded(seed: u64) -> Self {
        let seeded = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(seed);
        Random(Source::Seeded(std::sync::Arc::new(std::sync::Mutex::new(seeded))))
    }

    pub fn fill(&self, bytes: &mut [u8]) {
        match &self.0 {
            #[expect(clippy::disallowed_methods, reason = "this is the one place that asks")]
            Source::System => rand::rng().fill_bytes(bytes),
            #[cfg(test)]
            Source::Seeded(seeded) => seeded.lock().unwrap().fill_bytes(bytes),
        }
    }

    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// An identifier (UUID version 7): in order of time, so that new rows lie together in an index, with 74 bits
    /// that cannot be guessed.
    pub fn uuid(&self, now: Timestamp) -> Uuid {
        let millis = u64::try_from(now.as_millisecond()).unwrap_or_default();
        uuid::Builder::from_unix_timestamp_millis(millis, &self.bytes()).into_uuid()
    }

    /// A code of lower-case letters and digits, each as likely as any other.
    pub fn code(&self, length: usize) -> String {
        const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        // Bytes from the last, incomplete run of 36 would make some letters likelier.
        const FAIR: u8 = u8::MAX - (u8::MAX % 36 + 1);
        let mut code = String::with_capacity(length);
        while code.len() < length {
            for byte in self.bytes::<32>() {
                if byte <= FAIR && code.len() < length {
                    code.push(char::from(LETTERS[usize::from(byte) % LETTERS.len()]));
                }
            }
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_bytes_and_different_seeds_do_not() {
        assert_eq!(Random::seeded(1).bytes::<16>(), Random::seeded(1).bytes::<16>());
        assert_ne!(Random::seeded(1).bytes::<16>(), Random::seeded(2).bytes::<16>());
        assert_ne!(Random::system().bytes::<16>(), Random::system().bytes::<16>());
    }

    #[test]
    fn identifiers_are_version_7_and_ordered_by_time() {
        let random = Random::system();
        let early = random.uuid("2026-01-01T00:00:00Z".parse().unwrap());
        let late = random.uuid("2026-01-01T00:00:00.001Z".parse().unwrap());
        assert_eq!(early.get_version_num(), 7);
        assert!(early < late);
    }

    #[test]
    fn codes_use_every_letter_about_equally_often() {
        let code = Random::seeded(7).code(36_000);
        assert_eq!(code.len(), 36_000);
        for letter in "0123456789abcdefghijklmnopqrstuvwxyz".chars() {
            let times = code.chars().filter(|&found| found == letter).count();
            assert!((850..1150).contains(&times), "{letter}: {times}");
        }
    }
}
