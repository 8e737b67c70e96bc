//! The kinds of animals, by their category.

mod bird;
mod cat;
mod dog;
mod face;
mod lion;
mod other;
mod rabbit;

use super::dice::Dice;

pub(super) enum Species {
    Bird,
    Cat,
    Dog,
    Lion,
    Rabbit,
    /// A creature for every other category.
    Other,
}

impl Species {
    /// The first kind with a word that the category contains.
    pub(super) fn of(category: &str) -> Self {
        let category = category.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| category.contains(word));
        match () {
            () if has(&["lion", "big cat"]) => Species::Lion,
            () if has(&["dog", "pup", "hound", "terrier", "poodle", "wolf", "fox"]) => Species::Dog,
            () if has(&["cat", "kitten", "kitty", "tiger"]) => Species::Cat,
            () if has(&["rabbit", "bunny", "bunnies", "hare"]) => Species::Rabbit,
            () if has(&["bird", "parrot", "budgie", "canary", "finch", "chick", "duck", "owl"]) => {
                Species::Bird
            }
            () => Species::Other,
        }
    }

    pub(super) fn draw(&self, dice: &mut Dice) -> String {
        match self {
            Species::Bird => bird::draw(dice),
            Species::Cat => cat::draw(dice),
            Species::Dog => dog::draw(dice),
            Species::Lion => lion::draw(dice),
            Species::Rabbit => rabbit::draw(dice),
            Species::Other => other::draw(dice),
        }
    }
}
