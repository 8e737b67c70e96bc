//! Choices that depend only on what identifies a pet.

/// A sequence of choices that starts from a hash.
pub(super) struct Dice(u64);

impl Dice {
    /// The hash is FNV-1a. The numbers after it are SplitMix64, since the low bits of similar names hardly differ in FNV.
    pub(super) fn new(parts: &[&[u8]]) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for part in parts {
            // 0xff is not part of UTF-8, and separates the parts.
            for byte in part.iter().chain(&[0xff]) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        Dice(hash)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of the values, which are not empty.
    pub(super) fn pick<T: Copy, const N: usize>(&mut self, values: [T; N]) -> T {
        values[(self.roll() % N as u64) as usize]
    }
}
