use super::face;
use crate::picture::{
    colour::{Colour, INK, PINK},
    dice::Dice,
    scene,
    shape::{both, inside, line, oval, path},
};

const COATS: [u32; 6] = [0xf7_f0e8, 0xb4_b1b5, 0xb5_8863, 0xe6_c79c, 0x5a_5159, 0xcf_9f86];
const HEAD: &str = "M100 74C134 74 152 96 152 122C152 148 130 160 100 160S48 148 48 122C48 96 66 74 100 74Z";
const UP: &str = "M68 98C48 64 46 18 62 8C82 6 96 50 94 88Z";
const UP_INSIDE: &str = "M72 88C60 62 57 30 65 20C77 22 87 54 87 82Z";
const HANGING: &str = "M76 84C46 78 26 104 30 146C32 164 50 166 57 150C64 128 62 108 84 96Z";

pub(super) fn draw(dice: &mut Dice) -> String {
    let coat = Colour(dice.pick(COATS));
    let (light, mark) =
        (coat.lighter(70), if coat.0 == 0xf7_f0e8 { Colour(0x6d_6470) } else { coat.darker(36) });
    let inner = coat.mixed(PINK.0, 52);
    let ear = if dice.pick([true, false, false]) { mark } else { coat.darker(7) };
    let up = format!("{}{}", path(ear, UP), path(inner, UP_INSIDE));
    let hanging = path(ear.darker(6), HANGING);
    let mirrored = |shape: &str| format!(r#"<g transform="matrix(-1 0 0 1 200 0)">{shape}</g>"#);
    let (behind, front) = match dice.pick([0, 0, 1, 2]) {
        0 => (both(&up), String::new()),
        1 => (up, mirrored(&hanging)),
        _ => (String::new(), both(&hanging)),
    };
    let markings = match dice.pick([0, 1, 2, 3]) {
        0 => String::new(),
        1 => path(light, "M100 70C108 84 110 100 124 124C136 160 64 160 76 124C90 100 92 84 100 70Z"),
        2 => oval(mark, (124.0, 112.0), (22.0, 25.0)),
        _ => {
            format!("{}{}", oval(mark, (56.0, 108.0), (26.0, 40.0)), oval(mark, (144.0, 108.0), (26.0, 40.0)))
        }
    };
    let eyes = match dice.pick([0, 0, 1]) {
        0 => face::button_eyes(75.0, 116.0, 9.4, None),
        _ => face::happy_eyes(75.0, 116.0, 9.5),
    };
    format!(
        "{}{}{behind}{}{}{eyes}{}{}{}{}{}{}{front}{}",
        face::body(coat.darker(9), light),
        scene::neckwear(dice),
        path(coat, HEAD),
        inside(HEAD, &markings),
        face::cheeks(62.0, 136.0),
        both(&oval(light, (90.0, 138.0), (13.0, 10.5))),
        path(Colour(0xff_ffff), "M94 142H106V152Q103 155 100 152Q97 155 94 152Z"),
        line(INK, 1.2, "M100 144V152"),
        path(PINK, "M92 126Q100 121 108 126Q105 134 100 135Q95 134 92 126Z"),
        face::smile(141.0, 11.0),
        scene::headwear(dice, (132.0, 84.0)),
    )
}
