//! Random numbers that can be repeated.

/// The random numbers of a call: the same for the same seed and number of the call, on every machine and in every version of the
/// program, which no library promises. (SplitMix64.)
pub(super) fn numbers(seed: i64, call: u64) -> impl FnMut() -> u64 {
    let mut state = mixed(seed.cast_unsigned()).wrapping_add(mixed(call));
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(state)
    }
}

fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// A number from 0 up to, but not including, 1.
pub(super) fn fraction(random: &mut impl FnMut() -> u64) -> f64 {
    // A double has 53 bits for it.
    const STEPS: f64 = (1_u64 << 53) as f64;
    (random() >> 11) as f64 / STEPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_and_numbers_give_equal_numbers() {
        let three = |seed, call| {
            let mut random = numbers(seed, call);
            [random(), random(), random()]
        };
        assert_eq!(three(7, 1), three(7, 1));
        assert_ne!(three(7, 1), three(7, 2));
        assert_ne!(three(7, 1), three(8, 1));
        // A stored seed has to mean the same after an update.
        assert_eq!(numbers(7, 1)(), 16_366_588_483_709_163_318);
    }

    #[test]
    fn fractions_are_spread_evenly() {
        let mut tenths = [0; 10];
        for call in 0..10_000 {
            let fraction = fraction(&mut numbers(1, call));
            tenths[(fraction * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|found| (880..1120).contains(found)), "{tenths:?}");
    }
}
