//! A round, furry creature that no book of animals has.

use super::face;
use crate::picture::{
    colour::{Colour, EYES, INK},
    dice::Dice,
    scene,
    shape::{both, dot, inside, line, oval, path, ring},
};

const FURS: [u32; 7] = [0x57_b8a6, 0xef_8a6b, 0x9a_7fd6, 0xf0_b24c, 0x6a_a6e0, 0xe5_7fa3, 0x8a_b85a];
const SHAPE: &str = "M100 48C148 48 168 92 168 132C168 178 140 190 100 190S32 178 32 132C32 92 52 48 100 48Z";

pub(super) fn draw(dice: &mut Dice) -> String {
    let fur = Colour(dice.pick(FURS));
    let (light, dark) = (fur.lighter(62), fur.darker(26));
    let top = match dice.pick([0, 1, 2, 3]) {
        // Feelers.
        0 => both(&format!("{}{}", line(dark, 4.5, "M84 54Q76 34 62 28"), dot(dark, (60.0, 27.0), 8.0))),
        1 => both(&format!("{}{}", dot(dark, (58.0, 62.0), 20.0), dot(light, (59.0, 64.0), 11.0))),
        // Horns.
        2 => both(&path(light, "M62 74C48 58 46 42 52 28C64 36 78 46 86 58Z")),
        // A tuft.
        _ => line(dark, 7.0, "M100 54Q92 34 78 30M100 54Q100 30 104 22M100 54Q110 38 124 36"),
    };
    let markings = match dice.pick([0, 1, 2]) {
        0 => oval(light, (100.0, 168.0), (44.0, 40.0)),
        1 => {
            line(dark, 7.0, "M46 84h0M58 68h0M154 84h0M142 68h0M40 108h0M160 108h0M100 58h0M78 60h0M122 60h0")
        }
        _ => line(dark, 8.0, "M30 150Q100 172 170 150M34 172Q100 194 166 172"),
    };
    let iris = Colour(dice.pick(EYES));
    let eyes = match dice.pick([0, 0, 1, 2]) {
        0 => format!(
            "{}{}",
            both(&dot(Colour(0xff_ffff), (74.0, 108.0), 19.0)),
            face::button_eyes(76.0, 108.0, 11.0, Some(iris))
        ),
        1 => format!(
            "{}{}{}{}",
            dot(Colour(0xff_ffff), (100.0, 104.0), 27.0),
            dot(iris, (100.0, 104.0), 17.0),
            dot(INK, (100.0, 104.0), 10.5),
            dot(Colour(0xff_ffff), (95.0, 98.0), 4.5)
        ),
        _ => face::happy_eyes(74.0, 108.0, 12.0),
    };
    let mouth = match dice.pick([0, 1, 2]) {
        0 => line(INK, 3.0, "M84 142Q100 156 116 142"),
        1 => format!(
            "{}{}",
            path(INK, "M80 140Q100 146 120 140Q118 164 100 164T80 140Z"),
            path(Colour(0xff_ffff), "M90 143L97 144L93 151ZM103 144L110 143L107 151Z")
        ),
        _ => format!(
            "{}{}",
            line(INK, 3.0, "M82 142Q100 152 118 142"),
            path(Colour(0xff_ffff), "M92 146H99V153H92ZM101 146H108V153H101Z")
        ),
    };
    format!(
        "{}{top}{}{}{}{eyes}{}{mouth}{}",
        both(&oval(dark, (72.0, 188.0), (20.0, 11.0))),
        ring(fur, (100.0, 122.0), 62.0, 26, 20.0),
        path(fur, SHAPE),
        inside(SHAPE, &markings),
        face::cheeks(54.0, 136.0),
        scene::headwear(dice, (140.0, 66.0)),
    )
}
