//! Finds stations by name, country or coordinates.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::Station;

/// The largest distance at which a station is found, in kilometres.
const NEAR: f64 = 50.0;

const EARTH_RADIUS: f64 = 6371.0;

/// Coordinates in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Coordinates {
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
}

impl Coordinates {
    /// Kilometres along a great circle.
    pub(crate) fn distance(self, other: Coordinates) -> f64 {
        let (from, to) = (self.latitude.to_radians(), other.latitude.to_radians());
        let half = |degrees: f64| (degrees.to_radians() / 2.0).sin().powi(2);
        let a = half(other.latitude - self.latitude)
            + from.cos() * to.cos() * half(other.longitude - self.longitude);
        2.0 * EARTH_RADIUS * a.sqrt().min(1.0).asin()
    }
}

/// The names and the address of a station.
#[derive(Clone, Copy)]
pub(crate) struct Names<'t> {
    pub(crate) name: &'t str,
    /// Its names in other languages, such as English.
    pub(crate) also: &'t str,
    pub(crate) address: &'t str,
}

impl Names<'_> {
    pub(super) fn searched(self) -> Searched {
        let Names { name, also, address } = self;
        // No search can contain the separator, so that no match spans the name and the address.
        let exact = folded(&format!("{name}\0{address}"));
        Searched { exact, parts: [folded(&format!("{name} {also}")), folded(address)] }
    }
}

/// The names and the address of a station, normalized for the search.
pub(super) struct Searched {
    /// Name and address, for searches of a part of the text.
    pub(super) exact: String,
    /// All names, and the address: one of the two must have all words of a search, in any order.
    parts: [String; 2],
}

impl Searched {
    fn has(&self, search: &Search) -> bool {
        self.exact.contains(&search.exact)
            || (!search.words.is_empty()
                && self.parts.iter().any(|part| search.words.iter().all(|word| has_word(part, word))))
    }
}

/// Whether a word of a text begins with this.
fn has_word(text: &str, beginning: &str) -> bool {
    let found = text.match_indices(beginning);
    found.into_iter().any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}

/// The text of a search.
struct Search {
    exact: String,
    words: Vec<String>,
}

impl Search {
    fn new(text: &str) -> Self {
        let folded = folded(text);
        let exact = folded.trim();
        Search { exact: exact.into(), words: exact.split_whitespace().map(Into::into).collect() }
    }
}

/// The conditions of a search.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    pub(crate) search: Option<String>,
    pub(crate) country: Option<String>,
    pub(crate) near: Option<Coordinates>,
}

impl Filter {
    /// The stations that match: the nearest first if the search has coordinates, else by name.
    pub(crate) fn of<'t>(&self, stations: &'t [Station]) -> Vec<&'t Station> {
        let search = self.search.as_deref().map(Search::new);
        let fits = |station: &&Station| {
            search.as_ref().is_none_or(|search| station.searched.has(search))
                && self.country.as_ref().is_none_or(|country| station.country.eq_ignore_ascii_case(country))
        };
        let found = stations.iter().filter(fits);
        let Some(near) = self.near else {
            let mut found: Vec<_> = found.collect();
            found.sort_by(|a, b| (&a.searched.exact, a.id).cmp(&(&b.searched.exact, b.id)));
            return found;
        };
        let mut found: Vec<_> = found
            .map(|station| (near.distance(station.place), station))
            .filter(|(distance, _)| *distance <= NEAR)
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.id.cmp(&b.1.id)));
        found.into_iter().map(|(_, station)| station).collect()
    }
}

/// Text without regard to case and accents: `Malmö` is `malmo`, `Straße` is `strasse`.
pub(super) fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase) {
        match c {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' | 'ð' => folded.push('d'),
            'ı' => folded.push('i'),
            'þ' => folded.push_str("th"),
            // The dot that lower case leaves of the Turkish capital İ.
            '\u{307}' => {}
            c => folded.push(c),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_accents_are_ignored() {
        for (text, expected) in [
            ("München", "munchen"),
            ("ZÜRICH", "zurich"),
            ("Kraków Główny", "krakow glowny"),
            ("København", "kobenhavn"),
            ("Invalidenstraße", "invalidenstrasse"),
            ("İstanbul Halkalı", "istanbul halkali"),
            ("Praha hlavní nádraží", "praha hlavni nadrazi"),
        ] {
            assert_eq!(folded(text), expected);
        }
    }

    #[test]
    fn distances_are_in_kilometres_on_the_globe() {
        let berlin = Coordinates { latitude: 52.5251, longitude: 13.3694 };
        let paris = Coordinates { latitude: 48.8809, longitude: 2.3553 };
        assert!((berlin.distance(paris) - 878.0).abs() < 5.0, "{}", berlin.distance(paris));
        assert!(berlin.distance(berlin) < 0.001);
        let (east, west) = (
            Coordinates { latitude: 0.0, longitude: 179.9 },
            Coordinates { latitude: 0.0, longitude: -179.9 },
        );
        assert!(east.distance(west) < 25.0);
    }
}
