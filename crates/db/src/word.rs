//! Enumerations that are stored and sent as words.

/// An enumeration whose variants are stored and sent as words. `#[derive(Words)]` of the crate `model` implements it.
pub trait Word: Copy + 'static {
    /// The variants with their words, in the order of their declaration.
    const WORDS: &'static [(&'static str, Self)];

    fn word(self) -> &'static str;

    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }
}
