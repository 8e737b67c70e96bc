use super::face;
use crate::picture::{
    colour::{Colour, INK},
    dice::Dice,
    scene,
    shape::{both, dot, inside, line, oval, path},
};

const PLUMAGE: [u32; 7] = [0x4f_a9d8, 0xf2_c94c, 0x5d_b075, 0xe8_6a5c, 0x8f_7cd0, 0xf0_e6d6, 0x3f_7f8c];
const HEAD: &str = "M100 40C144 40 160 78 160 118C160 170 136 204 100 204S40 170 40 118C40 78 56 40 100 40Z";

pub(super) fn draw(dice: &mut Dice) -> String {
    let coat = Colour(dice.pick(PLUMAGE));
    let light = coat.lighter(70);
    let beak = Colour(dice.pick([0xf2_9a2e, 0xe9_7a3a, 0x6a_6470]));
    let crest = match dice.pick([0, 1, 2]) {
        0 => line(coat.darker(22), 8.0, "M100 46Q96 30 84 26M100 46Q100 26 100 18M100 46Q104 30 116 26"),
        1 => path(coat.darker(18), "M92 46C84 22 96 12 118 12C108 22 112 34 110 46Z"),
        _ => String::new(),
    };
    let markings = match dice.pick([0, 1, 2]) {
        0 => oval(light, (100.0, 176.0), (40.0, 52.0)),
        1 => format!(
            "{}{}",
            both(&oval(light, (74.0, 96.0), (30.0, 30.0))),
            oval(light, (100.0, 184.0), (34.0, 44.0))
        ),
        _ => format!(
            "{}{}",
            path(coat.darker(26), "M30 36H170V84Q135 60 100 88Q65 60 30 84Z"),
            line(
                light,
                5.0,
                "M86 158q6 7 12 0M104 158q6 7 12 0M78 174q6 7 12 0M94 174q6 7 12 0M112 174q6 7 12 0"
            )
        ),
    };
    let wing = path(coat.darker(24), "M42 112C26 130 24 168 36 196C52 184 58 150 54 118Z");
    let eyes = match dice.pick([0, 0, 1]) {
        0 => format!(
            "{}{}",
            both(&dot(Colour(0xff_ffff), (74.0, 96.0), 15.0)),
            face::button_eyes(75.0, 96.0, 9.5, None)
        ),
        _ => face::happy_eyes(74.0, 96.0, 11.0),
    };
    format!(
        "{crest}{}{}{}{eyes}{}{}{}{}",
        path(coat, HEAD),
        inside(HEAD, &markings),
        both(&wing),
        face::cheeks(58.0, 118.0),
        path(beak, "M82 108Q100 94 118 108Q112 132 100 136Q88 132 82 108Z"),
        line(INK, 2.0, "M84 110Q100 118 116 110"),
        scene::headwear(dice, (136.0, 58.0)),
    )
}
