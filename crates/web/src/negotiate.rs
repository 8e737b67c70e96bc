//! Which form an answer takes: the client's `Accept` header against what is offered.

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header};

use crate::problem::{NOT_ACCEPTABLE, Problem};

const JSON: &str = "application/json";

/// Lets a request through to operations that answer in JSON, if its client takes JSON. It comes before the
/// operation, so that a request nobody could read the answer of changes nothing.
pub(crate) async fn json(request: Request, next: Next) -> Response {
    match best(request.headers(), &[JSON]) {
        Some(_) => next.run(request).await,
        None => {
            Problem::new(&NOT_ACCEPTABLE, format!("This operation answers as {JSON} only.")).into_response()
        }
    }
}

/// The offered type that the client likes best; the first of several it likes equally, which is also what a
/// client without an `Accept` header gets. `None` when it takes none of them.
pub(crate) fn best<'o>(headers: &HeaderMap, offered: &[&'o str]) -> Option<&'o str> {
    let mut ranges = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(Range::parse)
        .peekable();
    if ranges.peek().is_none() {
        return offered.first().copied();
    }
    let ranges: Vec<_> = ranges.collect();
    let mut best = None;
    for &offer in offered {
        // The most specific range that matches decides, whatever its quality: `q=0` excludes.
        let decisive =
            ranges.iter().filter(|range| range.matches(offer)).max_by_key(|range| range.precision());
        let quality = decisive.map_or(0, |range| range.quality);
        if quality > best.map_or(0, |(quality, _)| quality) {
            best = Some((quality, offer));
        }
    }
    best.map(|(_, offer)| offer)
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

/// A quality between 0 and 1; what is no such number counts as 1, as if it had not been given.
fn thousandths(text: &str) -> u32 {
    match text.parse::<f32>() {
        Ok(quality) if (0.0..=1.0).contains(&quality) => (quality * 1000.0).round() as u32,
        _ => 1000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(accept: &[&'static str], offered: &[&'static str]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(header::ACCEPT, value.parse().unwrap());
        }
        best(&headers, offered)
    }

    #[test]
    fn the_best_offer_by_quality_and_precision() {
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
            assert_eq!(choose(accept, &both), expected, "{accept:?}");
        }
    }
}
