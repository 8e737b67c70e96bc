//! What a page says about the form that was sent before it.
//!
//! A form that is not taken is answered by going back to its page, not by a page: one that answers a form stays in the
//! browser's history, and whoever comes by it again is asked whether to send the form once more. What was wrong travels in
//! a cookie, which is shown once, lasts for a minute, and says nothing but what is listed here.

use axum::response::Response;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use sha2::Sha256;

use super::{
    AuthorizationServer,
    page::{Cookie, Fault, Field, see_other},
};
use crate::{Unfit, account::LONGEST_NAME};

/// Why a form was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Wrong,
    Busy,
    /// Too many wrong passwords; how many seconds to wait.
    Wait(u64),
    Taken,
    Unfit(Unfit),
}

/// Why, and the name that need not be typed again.
pub(super) struct Notice {
    why: Why,
    pub(super) name: String,
}

const WORDS: [(&str, Why); 9] = [
    ("wrong", Why::Wrong),
    ("busy", Why::Busy),
    ("taken", Why::Taken),
    ("name-length", Why::Unfit(Unfit::NameLength)),
    ("name-characters", Why::Unfit(Unfit::NameCharacters)),
    ("name-invisible", Why::Unfit(Unfit::NameInvisible)),
    ("password-length", Why::Unfit(Unfit::PasswordLength)),
    ("password-characters", Why::Unfit(Unfit::PasswordCharacters)),
    ("password-empty", Why::Unfit(Unfit::PasswordEmpty)),
];

impl Why {
    fn word(self) -> String {
        if let Why::Wait(seconds) = self {
            return format!("wait-{seconds}");
        }
        let found = WORDS.iter().find(|(_, why)| *why == self);
        found.map(|(word, _)| (*word).to_owned()).unwrap_or_default()
    }

    fn of(word: &str) -> Option<Self> {
        match word.strip_prefix("wait-") {
            Some(seconds) => seconds.parse().ok().map(Why::Wait),
            None => WORDS.iter().find(|(known, _)| *known == word).map(|(_, why)| *why),
        }
    }

    fn text(self) -> String {
        match self {
            Why::Wrong => "The name or the password is wrong.".into(),
            Why::Busy => "The service is busy. Try again in a moment.".into(),
            Why::Wait(seconds) => {
                format!("There were too many wrong passwords. Try again in {seconds} seconds.")
            }
            Why::Taken => "This name is taken. Choose another one.".into(),
            Why::Unfit(unfit) => {
                let text = unfit.to_string();
                let mut letters = text.chars();
                let first = letters.next().map(|first| first.to_ascii_uppercase());
                first.into_iter().chain(letters).chain(['.']).collect()
            }
        }
    }

    /// Where the person goes on.
    fn field(self) -> Option<Field> {
        match self {
            Why::Busy | Why::Wait(_) => None,
            Why::Taken | Why::Unfit(Unfit::NameLength | Unfit::NameCharacters | Unfit::NameInvisible) => {
                Some(Field::Name)
            }
            Why::Wrong | Why::Unfit(_) => Some(Field::Password),
        }
    }
}

impl Notice {
    pub(super) fn fault(&self) -> Fault {
        Fault { field: self.why.field(), text: self.why.text() }
    }
}

impl AuthorizationServer {
    /// Goes back to the page that a form came from, where it says why the form was not taken.
    pub(super) fn back_to_form(&self, headers: &HeaderMap, page: &str, why: Why, name: &str) -> Response {
        let mut response = see_other(page);
        // No account has a longer name, and a cookie has little room.
        let name = if name.chars().count() > LONGEST_NAME { "" } else { name };
        let content = format!("{}.{}", why.word(), BASE64_URL_SAFE_NO_PAD.encode(name));
        if let Some(seal) = self.seal(headers, page, &content) {
            let seal = BASE64_URL_SAFE_NO_PAD.encode(seal.finalize().into_bytes());
            self.set_cookie(&mut response, Cookie::Notice, Some(&format!("{content}.{seal}")));
        }
        response
    }

    /// What the page at this address is to say, if a form of it was just not taken.
    pub(super) fn notice(&self, headers: &HeaderMap, page: &str) -> Option<Notice> {
        let cookie = self.cookie(headers, Cookie::Notice)?;
        let (content, seal) = cookie.rsplit_once('.')?;
        let seal = BASE64_URL_SAFE_NO_PAD.decode(seal).ok()?;
        self.seal(headers, page, content)?.verify_slice(&seal).ok()?;
        let (word, name) = content.split_once('.')?;
        let name = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
        Some(Notice { why: Why::of(word)?, name })
    }

    /// What binds a notice to one page in one browser: the key is the secret that the browser's forms have too, which every
    /// process can check.
    fn seal(&self, headers: &HeaderMap, page: &str, content: &str) -> Option<Hmac<Sha256>> {
        let key = self.cookie(headers, Cookie::Form)?;
        let mut seal = Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()?;
        seal.update(format!("notice:{content}:{page}").as_bytes());
        Some(seal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_survives_the_way_through_a_cookie() {
        for why in WORDS.into_iter().map(|(_, why)| why).chain([Why::Wait(0), Why::Wait(u64::MAX)]) {
            assert_eq!(Why::of(&why.word()), Some(why));
            assert!(!why.word().contains('.'), "{why:?}");
            assert!(why.text().ends_with('.'), "{why:?}");
        }
        for word in ["", "wait-", "wait--1", "wait-1.5", "Wrong", "password"] {
            assert_eq!(Why::of(word), None, "{word}");
        }
    }
}
