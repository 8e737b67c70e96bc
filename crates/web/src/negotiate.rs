//! Content negotiation: the media type of an answer, chosen by the client's `Accept` header.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};

use crate::{
    problem::{NOT_ACCEPTABLE, PROBLEM_JSON, PROBLEM_XML, Problem, Result},
    sentence::any_of,
};

pub const JSON: &str = "application/json";
pub(crate) const XML: &str = "application/xml";
pub(crate) const TEXT_XML: &str = "text/xml";
const HTML: &str = "text/html";

/// The offered type that the client prefers, or a 406 problem that lists the offered types. An answer that depends on it
/// gets [`vary`].
pub fn choose(headers: &HeaderMap, offered: &[&'static str]) -> Result<&'static str> {
    best(headers, offered).ok_or_else(|| {
        Problem::new(&NOT_ACCEPTABLE, format!("This operation answers as {} only.", any_of(offered)))
    })
}

/// Tells caches that the answer was chosen by the `Accept` header.
pub fn vary(response: &mut Response) {
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept"));
}

/// Whether the client prefers a problem in XML. A client that prefers neither, or accepts neither, gets JSON.
pub(crate) fn prefers_xml(headers: &HeaderMap) -> bool {
    let offered = [JSON, PROBLEM_JSON, PROBLEM_XML, XML, TEXT_XML];
    matches!(best(headers, &offered), Some(PROBLEM_XML | XML | TEXT_XML))
}

/// Whether the client prefers a page: it names HTML, and prefers it to every other format of a problem. Between
/// equal qualities the first name counts: browsers send HTML first.
pub fn prefers_html(headers: &HeaderMap) -> bool {
    let named = ranges(headers).enumerate().find(|(_, range)| range.precision() == 2 && range.matches(HTML));
    let Some((at, html)) = named.filter(|(_, range)| range.quality > 0) else { return false };
    [JSON, PROBLEM_JSON, PROBLEM_XML, XML, TEXT_XML].iter().all(|other| {
        let decisive = ranges(headers)
            .enumerate()
            .filter(|(_, range)| range.matches(other))
            .max_by_key(|(_, range)| range.precision());
        decisive.is_none_or(|(place, range)| (range.quality, at) < (html.quality, place))
    })
}

/// The offered type that the client prefers; the first of several with equal quality, and for a client without an `Accept`
/// header. `None` if the client accepts none of them.
pub(crate) fn best<'o>(headers: &HeaderMap, offered: &[&'o str]) -> Option<&'o str> {
    if ranges(headers).next().is_none() {
        return offered.first().copied();
    }
    let mut best = None;
    for &offer in offered {
        // The most specific range that matches decides, also with `q=0`, which excludes.
        let decisive =
            ranges(headers).filter(|range| range.matches(offer)).max_by_key(|range| range.precision());
        let quality = decisive.map_or(0, |range| range.quality);
        if quality > best.map_or(0, |(quality, _)| quality) {
            best = Some((quality, offer));
        }
    }
    best.map(|(_, offer)| offer)
}

/// Read anew for each offer, of which there are few: that is cheaper than keeping them.
fn ranges(headers: &HeaderMap) -> impl Iterator<Item = Range<'_>> {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(Range::parse)
}

/// One range of an `Accept` header, its quality in thousandths.
struct Range<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: u32,
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subtype) = parts.next()?.split_once('/')?;
        let quality = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| thousandths(value.trim()))
        });
        Some(Range { kind, subtype, quality: quality.unwrap_or(1000) })
    }

    fn matches(&self, offer: &str) -> bool {
        let Some((kind, subtype)) = offer.split_once('/') else { return false };
        match (self.kind, self.subtype) {
            ("*", "*") => true,
            (wanted, "*") => wanted.eq_ignore_ascii_case(kind),
            (wanted, exact) => wanted.eq_ignore_ascii_case(kind) && exact.eq_ignore_ascii_case(subtype),
        }
    }

    fn precision(&self) -> u8 {
        match (self.kind, self.subtype) {
            ("*", _) => 0,
            (_, "*") => 1,
            _ => 2,
        }
    }
}

/// A quality between 0 and 1; any other text counts as 1, as an absent quality does.
fn thousandths(text: &str) -> u32 {
    match text.parse::<f32>() {
        Ok(quality) if (0.0..=1.0).contains(&quality) => (quality * 1000.0).round() as u32,
        _ => 1000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(accept: &[&'static str]) -> HeaderMap {
        accept.iter().map(|value| (header::ACCEPT, value.parse().unwrap())).collect()
    }

    #[test]
    fn page_is_for_clients_that_rank_html_first() {
        for (accept, expected) in [
            (&[][..], false),
            (&["*/*"], false),
            (&["text/*"], false),
            (&["text/html"], true),
            (&["TEXT/HTML;q=0.1"], true),
            (&["text/html;q=0"], false),
            (&["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"], true),
            (&["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], true),
            (&["application/json, text/html"], false),
            (&["text/html, application/json"], true),
            (&["text/html, */*"], true),
            (&["*/*, text/html"], false),
            (&["text/html;q=0.8, application/problem+json;q=0.9"], false),
            (&["text/html;q=0.8", "application/xml;q=0.9"], false),
            (&["application/json;q=0.5, text/html;q=0.6"], true),
        ] {
            assert_eq!(prefers_html(&accepting(accept)), expected, "{accept:?}");
        }
    }

    #[test]
    fn best_offer_is_chosen_by_quality_and_precision() {
        let both = ["application/json", "application/xml"];
        let json = Some("application/json");
        let xml = Some("application/xml");
        for (accept, expected) in [
            (&[][..], json),
            (&[""], json),
            (&["*/*"], json),
            (&["application/*"], json),
            (&["application/xml"], xml),
            (&["APPLICATION/XML"], xml),
            (&["application/json;q=0.5, application/xml"], xml),
            (&["application/json; q=0.5", "application/xml;q=0.4"], json),
            (&["application/json;q=0.5, application/xml;q=0.50001"], json),
            (&["*/*, application/json;q=0"], xml),
            (&["application/*;q=0, */*"], None),
            (&["text/html"], None),
            (&["text/html, */*;q=0.1"], json),
            (&["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], xml),
            (&["application/json;q=0"], None),
            (&["application/json;q=0.000"], None),
            (&["application/json;q=bogus"], json),
            (&["application/json;charset=utf-8"], json),
            (&["nonsense"], json),
        ] {
            assert_eq!(best(&accepting(accept), &both), expected, "{accept:?}");
        }
    }
}
