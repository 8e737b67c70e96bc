//! Rejects query parameters that an operation does not have, and members that a closed object does not have: if a mistyped name were
//! ignored, the client would get a wrong answer without an error.

use std::collections::BTreeSet;

use http::Extensions;

use super::{
    form::{self, Pairs},
    repeats::Step,
};
use crate::{
    problem::{Invalid, Problem},
    sentence::{all_of, any_of, shortened},
};

/// How many unknown names are reported, and how many known names an error lists.
const MOST_UNKNOWN: usize = 10;
const MOST_KNOWN: usize = 8;

/// The validation errors of the query string of an operation without parameters, for the extractor of the path or the body.
#[derive(Clone, Debug)]
pub(crate) struct UnknownParameters {
    pub(crate) errors: Vec<Invalid>,
    /// Whether the extractor of the body reports the errors, rather than that of the path.
    pub(crate) body: bool,
}

impl UnknownParameters {
    /// The errors for the extractor of the body, or for the one of the path.
    pub(super) fn of(extensions: &Extensions, body: bool) -> Option<&Self> {
        extensions.get::<UnknownParameters>().filter(|unknown| unknown.body == body)
    }

    /// The result of reading the body, or the path, with these validation errors among the others.
    pub(super) fn join<T>(unknown: Option<&Self>, result: Result<T, Problem>) -> Result<T, Problem> {
        match (unknown, result) {
            (None, result) => result,
            (Some(unknown), Ok(_)) => Err(Problem::invalid(unknown.errors.clone())),
            (Some(unknown), Err(problem)) => Err(problem.and_invalid(unknown.errors.clone())),
        }
    }
}

/// A parameter that older clients send access tokens in (RFC 6750, 2.3).
const ACCESS_TOKEN: &str = "access_token";

/// The validation errors of the query string of an operation without parameters. With `leave_token`, an access token is not
/// reported here: the extractor of the caller rejects it with a challenge.
pub(crate) fn unknown_parameters(query: &str, leave_token: bool) -> Vec<Invalid> {
    match form::pairs(query) {
        Ok(mut pairs) => {
            pairs.retain(|(name, _)| !(leave_token && name == ACCESS_TOKEN));
            among(&pairs, &[])
        }
        Err(why) => vec![Invalid { pointer: "?".into(), detail: why.into() }],
    }
}

/// The errors for parameters that are not among the known ones.
pub(super) fn among(parameters: &Pairs<'_>, known: &[String]) -> Vec<Invalid> {
    let names: BTreeSet<_> = parameters.iter().map(|(name, _)| name.as_ref()).collect();
    let unknown = names.into_iter().filter(|name| !known.iter().any(|one| one == name));
    unknown
        .take(MOST_UNKNOWN)
        .map(|name| Invalid { pointer: format!("?{}", shortened(name)), detail: advice(name, known).into() })
        .collect()
}

fn advice(name: &str, known: &[String]) -> String {
    let not_one = "is not a parameter of this operation";
    if name == ACCESS_TOKEN {
        return format!("{not_one}: an access token belongs in the Authorization header");
    }
    if let Some(near) = nearest(name, known) {
        return format!("{not_one}; did you mean `{near}`?");
    }
    match known.len() {
        0 => format!("{not_one}, which takes none"),
        1..=MOST_KNOWN => {
            let known: Vec<_> = known.iter().map(String::as_str).collect();
            format!("{not_one}, which takes {}", any_of(&known))
        }
        _ => not_one.into(),
    }
}

/// The errors for members that are not among the known ones, each with its step of the pointer.
pub(super) fn members(sent: &BTreeSet<&str>, known: &[&str]) -> Vec<(String, String)> {
    let unknown = sent.iter().filter(|name| !known.contains(name)).take(MOST_UNKNOWN);
    unknown.map(|name| (Step(name).to_string(), member_advice(name, known))).collect()
}

fn member_advice(name: &str, known: &[&str]) -> String {
    let not_one = "is not a member of this object";
    match (known, nearest(name, known)) {
        ([], _) => format!("{not_one}, which has none"),
        ([only], _) => format!("{not_one}; its only member is {only}"),
        (_, Some(near)) => format!("{not_one}; did you mean `{near}`? The members are {}", all_of(known)),
        (_, None) => format!("{not_one}; the members are {}", all_of(known)),
    }
}

/// The known name that is most similar, if it is similar enough for a typing mistake.
fn nearest<'k, K: AsRef<str>>(name: &str, known: &'k [K]) -> Option<&'k str> {
    // The comparison of long names is slow, and a long name is not a typing mistake.
    if name.chars().count() > 60 {
        return None;
    }
    let lower = name.to_lowercase();
    let distance = |one: &str| strsim::damerau_levenshtein(&lower, &one.to_lowercase());
    let known = known.iter().map(AsRef::as_ref);
    let nearest = known.map(|one| (distance(one), one)).min_by_key(|(distance, _)| *distance)?;
    (nearest.0 <= (name.chars().count() / 3).max(1)).then_some(nearest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(query: &str, known: &[&str]) -> Vec<(String, String)> {
        let known: Vec<_> = known.iter().map(|name| (*name).to_owned()).collect();
        let found = among(&form::pairs(query).unwrap(), &known);
        found.into_iter().map(|one| (one.pointer, one.detail.into_owned())).collect()
    }

    #[test]
    fn unknown_name_gets_the_nearest_known_one() {
        let known = ["page", "limit", "startDate"];
        for (sent, near) in
            [("Page", "page"), ("lmit", "limit"), ("start_date", "startDate"), ("startdate", "startDate")]
        {
            let detail = format!("is not a parameter of this operation; did you mean `{near}`?");
            assert_eq!(errors(&format!("{sent}=1&limit=2"), &known), [(format!("?{sent}"), detail)]);
        }
        let others = "is not a parameter of this operation, which takes page, limit or startDate";
        assert_eq!(errors("colour=1&colour=2", &known), [("?colour".into(), others.to_owned())]);
        assert_eq!(errors("page=1&limit=1&startDate=1", &known), []);
        let none = "is not a parameter of this operation, which takes none";
        assert_eq!(errors("=1", &[]), [("?".into(), none.to_owned())]);
    }

    #[test]
    fn reported_unknown_parameters_are_limited() {
        let query: Vec<_> = (0..5000).map(|number| format!("{number:0>70}=1")).collect();
        let found = errors(&query.join("&"), &["page"]);
        assert_eq!(found.len(), MOST_UNKNOWN);
        assert_eq!(found[0].0.len(), 61);
    }
}
