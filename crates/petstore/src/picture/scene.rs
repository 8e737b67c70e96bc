//! What is around an animal: the backdrop, and what it wears.

use super::{
    colour::{CLOTHS, Colour, GOLD},
    dice::Dice,
    shape::{dot, line, oval, path, ring},
};

pub(super) fn backdrop(dice: &mut Dice, shape: Colour) -> String {
    let sun = |at| dot(shape, at, 78.0);
    match dice.pick([0, 1, 2, 3, 4, 5, 6]) {
        0 => sun((100.0, 104.0)),
        1 => path(shape, "M0 132Q46 96 96 128T200 112V200H0Z"),
        2 => (0..5)
            .map(|row| ring(shape, (100.0, 100.0), 22.0 + 26.0 * row as f32, 7 + 7 * row, 7.0))
            .collect(),
        3 => line(
            shape,
            15.0,
            "M-20 60L60-20M-20 124L124-20M-20 188L188-20M12 220L220 12M76 220L220 76M140 220L220 140",
        ),
        4 => format!("{}{}", sun((160.0, 40.0)), path(shape, "M0 150Q60 118 110 150T200 150V200H0Z")),
        5 => leaves(shape),
        _ => path(shape, "M0 0H200V60Q175 78 150 60T100 60T50 60T0 60Z"),
    }
}

fn leaves(shape: Colour) -> String {
    let leaf = "M0 0C22-14 30-44 16-74C-10-56-18-26 0 0Z";
    let places = [
        "6 206) rotate(-8)",
        "40 214) rotate(-34)",
        "194 206) rotate(-22)",
        "170 216) rotate(12)",
        "2 96) rotate(30)",
        "200 84) rotate(-62)",
    ];
    places
        .iter()
        .map(|place| {
            format!(r#"<path fill="{shape}" transform="translate({place} scale(1.25)" d="{leaf}"/>"#)
        })
        .collect()
}

/// What an animal wears around its neck, if anything. The neck is at the height 156.
pub(super) fn neckwear(dice: &mut Dice) -> String {
    let cloth = Colour(dice.pick(CLOTHS));
    let dark = cloth.darker(28);
    let band = "M62 152Q100 178 138 152L141 164Q100 192 59 164Z";
    match dice.pick([0, 1, 2, 3, 4]) {
        0 => String::new(),
        1 => format!(
            "{}{}{}",
            path(cloth, band),
            dot(GOLD.darker(22), (100.0, 186.0), 8.5),
            dot(GOLD, (100.0, 185.0), 7.5)
        ),
        2 => format!(
            "{}{}{}",
            path(cloth, "M60 150Q100 174 140 150L142 162Q126 190 100 206Q74 190 58 162Z"),
            line(cloth.lighter(75), 4.0, "M80 172h0M100 178h0M120 172h0M90 186h0M110 186h0"),
            line(dark, 2.5, "M59 158Q100 183 141 158")
        ),
        3 => format!(
            "{}{}{}",
            path(dark, "M66 154Q100 176 134 154L136 161Q100 184 64 161Z"),
            path(cloth, "M100 173L74 160Q68 176 74 190ZM100 173L126 160Q132 176 126 190Z"),
            oval(dark, (100.0, 174.0), (6.5, 7.5))
        ),
        _ => format!(
            "{}{}{}",
            path(dark, "M112 164L140 200H116L100 170Z"),
            path(cloth, "M58 148Q100 176 142 148Q150 162 142 172Q100 194 58 172Q50 162 58 148Z"),
            line(
                cloth.lighter(55),
                3.0,
                "M66 160L62 172M82 168L80 180M100 171V183M118 168L120 180M134 160L138 172"
            )
        ),
    }
}

/// What an animal wears on its head, if anything.
pub(super) fn headwear(dice: &mut Dice, (x, y): (f32, f32)) -> String {
    let cloth = Colour(dice.pick(CLOTHS));
    match dice.pick([0, 0, 0, 1, 2]) {
        1 => format!("{}{}", ring(cloth.lighter(25), (x, y), 7.5, 5, 11.0), dot(GOLD, (x, y), 5.0)),
        2 => format!(
            r#"<g transform="translate({x} {y}) rotate(18)">{}{}</g>"#,
            path(cloth, "M0 0L-17-10Q-21 0-17 10ZM0 0L17-10Q21 0 17 10Z"),
            dot(cloth.darker(25), (0.0, 0.0), 5.0)
        ),
        _ => String::new(),
    }
}
