use super::face;
use crate::picture::{
    colour::{Colour, INK, PINK},
    dice::Dice,
    scene,
    shape::{both, inside, line, oval, path},
};

const COATS: [u32; 7] = [0xe3_b06a, 0x9a_6238, 0x4a_4244, 0xf5_ecdf, 0xb9_b2ac, 0xc4_6f3d, 0x7a_5a48];
const HEAD: &str = "M100 50C136 50 152 76 152 104C152 136 132 160 100 160S48 136 48 104C48 76 64 50 100 50Z";

pub(super) fn draw(dice: &mut Dice) -> String {
    let coat = Colour(dice.pick(COATS));
    let ear = if dice.pick([true, false]) { coat.darker(32) } else { coat.darker(12) };
    let (light, mark) =
        (coat.lighter(68), if coat.0 == 0x4a_4244 { Colour(0xc0_8550) } else { coat.darker(38) });
    let inner = coat.mixed(PINK.0, 55);
    // Ears that hang are in front of the head, those that stand are behind it.
    let (behind, front) = match dice.pick([0, 1, 2, 3]) {
        0 => (
            String::new(),
            both(&path(ear, "M68 60C42 52 24 78 28 114C30 132 46 136 54 122C61 108 60 84 74 68Z")),
        ),
        1 => (
            both(&format!(
                "{}{}",
                path(ear, "M52 96C40 66 42 40 50 26C70 36 86 50 94 64Z"),
                path(inner, "M57 80C51 62 52 50 55 42C65 48 73 56 80 66Z")
            )),
            String::new(),
        ),
        2 => (
            both(&path(ear, "M50 92C42 68 46 50 56 42C72 46 86 54 94 62Z")),
            both(&path(ear.darker(12), "M56 42C40 50 32 68 36 88C52 88 66 78 74 54Z")),
        ),
        _ => (
            String::new(),
            both(&path(ear, "M72 56C44 50 24 88 28 140C29 160 48 163 56 146C64 124 60 88 78 68Z")),
        ),
    };
    let markings = match dice.pick([0, 1, 2, 3, 4]) {
        0 => String::new(),
        1 => path(
            light,
            "M100 46C110 46 114 60 112 78C110 100 130 116 134 140C130 166 70 166 66 140C70 116 90 100 88 78C86 60 90 46 100 46Z",
        ),
        2 => oval(mark, (128.0, 96.0), (26.0, 32.0)),
        3 => format!("{}{}", oval(mark, (62.0, 78.0), (34.0, 46.0)), oval(mark, (138.0, 78.0), (34.0, 46.0))),
        _ => format!(
            "{}{}{}{}",
            oval(mark, (64.0, 80.0), (10.0, 8.0)),
            oval(mark, (132.0, 66.0), (12.0, 9.0)),
            oval(mark, (142.0, 120.0), (9.0, 11.0)),
            oval(mark, (92.0, 66.0), (6.0, 5.0))
        ),
    };
    let eyes = match dice.pick([0, 0, 0, 1]) {
        0 => face::button_eyes(76.0, 100.0, 8.6, None),
        _ => face::happy_eyes(76.0, 100.0, 9.5),
    };
    let brows = if dice.pick([true, false]) {
        both(&line(coat.darker(45), 3.6, "M68 84Q74 79 81 82"))
    } else {
        String::new()
    };
    let mouth = match dice.pick([0, 1, 1]) {
        0 => face::smile(142.0, 14.0),
        _ => format!(
            "{}{}{}",
            path(PINK, "M90 142H110V154A10 10 0 0 1 90 154Z"),
            line(PINK.darker(28), 1.8, "M100 146V155"),
            face::smile(142.0, 15.0)
        ),
    };
    format!(
        "{}{}{behind}{}{}{brows}{eyes}{}{mouth}{}{}{front}{}",
        face::body(coat.darker(9), light),
        scene::neckwear(dice),
        path(coat, HEAD),
        inside(HEAD, &markings),
        oval(light, (100.0, 134.0), (29.0, 23.0)),
        path(INK, "M86 120Q86 113 100 113T114 120Q114 127 104 131Q100 133 96 131Q86 127 86 120Z"),
        oval(INK.lighter(60), (95.0, 118.0), (4.0, 2.0)),
        scene::headwear(dice, (134.0, 58.0)),
    )
}
