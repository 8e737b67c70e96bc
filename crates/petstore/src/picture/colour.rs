//! Colours, and the palettes of coats and backgrounds.

use std::fmt;

/// A colour, `0xrrggbb`.
#[derive(Clone, Copy)]
pub(super) struct Colour(pub(super) u32);

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:06x}", self.0)
    }
}

impl Colour {
    /// This colour with some percent of another one.
    pub(super) fn mixed(self, other: u32, percent: u32) -> Self {
        let part = |shift: u32| {
            let (own, other) = ((self.0 >> shift) & 0xff, (other >> shift) & 0xff);
            ((own * (100 - percent) + other * percent) / 100) << shift
        };
        Colour(part(16) | part(8) | part(0))
    }

    pub(super) fn darker(self, percent: u32) -> Self {
        self.mixed(0x2a_1810, percent)
    }

    pub(super) fn lighter(self, percent: u32) -> Self {
        self.mixed(0xff_f8ee, percent)
    }
}

pub(super) const INK: Colour = Colour(0x3a_2a26);
pub(super) const PINK: Colour = Colour(0xf2_8b94);
pub(super) const GOLD: Colour = Colour(0xf6_c445);

/// A background and the shapes on it.
pub(super) const BACKDROPS: [(u32, u32); 8] = [
    (0xff_d8bf, 0xff_c29c),
    (0xff_e8a8, 0xff_d978),
    (0xc6_ecd8, 0xa2_dcbf),
    (0xc8_e3fb, 0xa2_cdf4),
    (0xe0_d5fb, 0xca_b8f4),
    (0xfb_d3de, 0xf4_b3c6),
    (0xed_e1cd, 0xdd_caab),
    (0xbf_e9ea, 0x98_d7d9),
];

/// Collars, bows and scarves.
pub(super) const CLOTHS: [u32; 6] = [0xd9_3f4c, 0x2f_7fd1, 0x2a_9d70, 0x8a_4fc0, 0xf0_8a24, 0x1f_3b64];

pub(super) const EYES: [u32; 6] = [0x6f_b04a, 0xe0_a526, 0x3f_98d0, 0x2f_a796, 0xb8_7333, 0x8c_7ad6];
