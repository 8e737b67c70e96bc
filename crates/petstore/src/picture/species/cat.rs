use super::face;
use crate::picture::{
    colour::{Colour, EYES, INK, PINK},
    dice::Dice,
    scene,
    shape::{both, inside, line, oval, path},
};

const COATS: [u32; 7] = [0xee_9a4d, 0x8f_99a8, 0x45_4150, 0xf6_ece0, 0xe9_cba0, 0xa8_7450, 0x6e_7f92];
const HEAD: &str = "M100 58C142 58 160 84 160 112C160 140 132 154 100 154S40 140 40 112C40 84 58 58 100 58Z";

pub(super) fn draw(dice: &mut Dice) -> String {
    let coat = Colour(dice.pick(COATS));
    let is_dark = coat.0 == 0x45_4150;
    let (light, mark) = (coat.lighter(72), if is_dark { coat.lighter(22) } else { coat.darker(34) });
    let ears = match dice.pick([0, 0, 1, 2]) {
        0 => pair_of_ears(
            "M46 100C38 70 38 46 45 33C64 38 82 51 94 66Z",
            "M53 84C48 66 48 54 51 46C61 50 70 57 78 66Z",
            coat,
        ),
        // Wide apart.
        1 => pair_of_ears(
            "M44 112C28 88 22 66 25 50C50 50 72 58 88 70Z",
            "M44 96C34 82 31 70 33 61C47 62 59 66 69 73Z",
            coat,
        ),
        // Folded forward.
        _ => both(&format!(
            "{}{}",
            path(coat.darker(10), "M46 96C40 74 42 58 50 50C68 52 82 58 92 66Z"),
            path(coat.lighter(16), "M50 50C44 66 48 80 58 88C70 84 82 74 90 64C78 56 64 50 50 50Z")
        )),
    };
    let markings = match dice.pick([0, 1, 1, 2, 3, 4]) {
        0 => String::new(),
        // Stripes of a tabby.
        1 => line(
            mark,
            6.0,
            "M100 56V80M84 58Q85 70 90 78M116 58Q115 70 110 78M38 106Q50 106 58 111M40 124Q50 121 58 123M162 106Q150 106 142 111M160 124Q150 121 142 123",
        ),
        // A blaze over the nose.
        2 => path(light, "M100 66C106 92 118 104 128 130C128 156 72 156 72 130C82 104 94 92 100 66Z"),
        // A patch around an eye.
        3 => oval(mark, (126.0, 102.0), (28.0, 32.0)),
        // A dark mask.
        _ => oval(mark, (100.0, 126.0), (40.0, 34.0)),
    };
    let iris = Colour(dice.pick(EYES));
    let eyes = match dice.pick([0, 0, 1, 2]) {
        0 => face::slit_eyes(74.0, 108.0, iris),
        1 => face::button_eyes(74.0, 108.0, 10.0, Some(iris)),
        _ => face::happy_eyes(74.0, 108.0, 10.0),
    };
    let muzzle = both(&oval(light, (90.0, 131.0), (14.0, 11.0)));
    let nose = path(PINK, "M92 119Q100 115 108 119Q106 127 100 129Q94 127 92 119Z");
    let whiskers = face::whiskers(if is_dark { light } else { INK }, 128.0);
    format!(
        "{}{}{ears}{}{}{eyes}{}{muzzle}{nose}{}{whiskers}{}",
        face::body(coat.darker(9), light),
        scene::neckwear(dice),
        path(coat, HEAD),
        inside(HEAD, &markings),
        face::cheeks(56.0, 130.0),
        face::smile(134.0, 12.0),
        scene::headwear(dice, (143.0, 66.0)),
    )
}

fn pair_of_ears(outer: &str, inner: &str, coat: Colour) -> String {
    both(&format!("{}{}", path(coat, outer), path(coat.mixed(PINK.0, 62), inner)))
}
