use super::face;
use crate::picture::{
    colour::{Colour, EYES, GOLD, INK},
    dice::Dice,
    scene,
    shape::{both, dot, inside, line, oval, path, ring},
};

const COATS: [u32; 4] = [0xf2_bd62, 0xe5_a65a, 0xf4_d39a, 0xd9_975a];
const MANES: [u32; 5] = [0xa8_5a24, 0x7a_3f24, 0xc9_6a2a, 0x5a_3a34, 0xd9_862f];
const HEAD: &str = "M100 60C136 60 150 84 150 110C150 140 130 156 100 156S50 140 50 110C50 84 64 60 100 60Z";

pub(super) fn draw(dice: &mut Dice) -> String {
    let coat = Colour(dice.pick(COATS));
    let (light, mane) = (coat.lighter(66), Colour(dice.pick(MANES)));
    let deep = mane.darker(22);
    let centre = (100.0, 106.0);
    let (mane, has_mane) = match dice.pick([0, 1, 2, 3]) {
        // Curls.
        0 => (
            format!(
                "{}{}{}",
                ring(deep, centre, 66.0, 15, 32.0),
                dot(deep, centre, 66.0),
                ring(mane, centre, 56.0, 13, 30.0)
            ),
            true,
        ),
        // Points.
        1 => (format!("{}{}", star(deep, 86.0, 70.0, 18), star(mane, 72.0, 58.0, 16)), true),
        // Long and smooth, with a parting.
        2 => (
            format!(
                "{}{}",
                path(
                    deep,
                    "M100 22C160 14 190 66 182 118C178 160 160 190 100 200C40 190 22 160 18 118C10 66 40 14 100 22Z"
                ),
                path(
                    mane,
                    "M100 38C150 24 172 70 166 116C160 154 140 176 100 184C60 176 40 154 34 116C28 70 50 24 100 38Z"
                )
            ),
            true,
        ),
        // A lioness.
        _ => (String::new(), false),
    };
    let ear = format!(
        "{}{}",
        dot(coat.darker(10), (56.0, 68.0), 18.0),
        dot(coat.mixed(mane_inside(coat), 60), (57.0, 69.0), 10.0)
    );
    let markings = match dice.pick([0, 1, 2]) {
        0 => String::new(),
        1 => line(coat.darker(30), 4.4, "M100 60V76M88 63Q89 71 92 76M112 63Q111 71 108 76"),
        _ => line(
            coat.darker(30),
            3.6,
            "M62 128h0M70 136h0M60 138h0M138 128h0M130 136h0M140 138h0M90 70h0M110 70h0M100 64h0M100 76h0",
        ),
    };
    let eyes = match dice.pick([0, 0, 1]) {
        0 => face::button_eyes(76.0, 104.0, 8.6, Some(Colour(dice.pick(EYES)))),
        _ => face::happy_eyes(76.0, 104.0, 9.5),
    };
    let neck = if has_mane { String::new() } else { scene::neckwear(dice) };
    let crown = match dice.pick([0, 0, 1]) {
        1 => format!(
            "{}{}",
            path(GOLD, "M72 70L66 36L86 50L100 26L114 50L134 36L128 70Q100 60 72 70Z"),
            line(Colour(0xd9_3f4c), 6.0, "M86 60h0M100 58h0M114 60h0")
        ),
        _ => scene::headwear(dice, (138.0, 62.0)),
    };
    format!(
        "{}{neck}{mane}{}{}{}{eyes}{}{}{}{}{}{crown}",
        face::body(coat.darker(12), light),
        both(&ear),
        path(coat, HEAD),
        inside(HEAD, &markings),
        path(coat.lighter(28), "M92 84H108L113 122H87Z"),
        oval(light, (100.0, 152.0), (15.0, 11.0)),
        both(&oval(light, (88.0, 136.0), (17.0, 13.5))),
        path(INK, "M84 119Q100 112 116 119Q112 129 100 132Q88 129 84 119Z"),
        face::smile(139.0, 14.0),
    )
}

/// The inside of an ear.
fn mane_inside(coat: Colour) -> u32 {
    coat.darker(45).0
}

/// A star with round points.
fn star(fill: Colour, outer: f32, inner: f32, points: u8) -> String {
    let step = std::f32::consts::PI / f32::from(points);
    let corners = (0..points * 2).map(|corner| {
        let (radius, angle) = (if corner % 2 == 0 { outer } else { inner }, step * f32::from(corner));
        format!("{:.0} {:.0}", 100.0 + radius * angle.sin(), 106.0 - radius * angle.cos())
    });
    let d = format!("M{}Z", corners.collect::<Vec<_>>().join("L"));
    format!(r#"<path fill="{fill}" stroke="{fill}" stroke-width="6" stroke-linejoin="round" d="{d}"/>"#)
}
