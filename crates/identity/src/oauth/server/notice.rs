//! The notice on a page about the form that was just rejected.
//!
//! A rejected form is answered by a redirect to its page: a page in response to a form stays in the browser's history, and
//! a reload would send the form again. The reason is in a cookie, which is shown once, expires after a minute, and can only
//! hold the reasons of this file.

use axum::response::Response;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use sha2::Sha256;

use super::{
    cookie::Cookie,
    page::{Field, FormError, see_other},
    state::AuthorizationServer,
};
use crate::account::{AccountError, LONGEST_NAME};

/// Why a form was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Wrong,
    Busy,
    /// Too many wrong passwords; how many seconds to wait.
    Wait(u64),
    Taken,
    Invalid(AccountError),
}

/// The reason, and the name, so that the user need not type it again.
pub(super) struct Notice {
    reason: Reason,
    pub(super) name: String,
}

const WORDS: [(&str, Reason); 9] = [
    ("wrong", Reason::Wrong),
    ("busy", Reason::Busy),
    ("taken", Reason::Taken),
    ("name-length", Reason::Invalid(AccountError::NameLength)),
    ("name-characters", Reason::Invalid(AccountError::NameCharacters)),
    ("name-invisible", Reason::Invalid(AccountError::NameInvisible)),
    ("password-length", Reason::Invalid(AccountError::PasswordLength)),
    ("password-characters", Reason::Invalid(AccountError::PasswordCharacters)),
    ("password-empty", Reason::Invalid(AccountError::PasswordEmpty)),
];

impl Reason {
    fn word(self) -> String {
        if let Reason::Wait(seconds) = self {
            return format!("wait-{seconds}");
        }
        let found = WORDS.iter().find(|(_, reason)| *reason == self);
        found.map(|(word, _)| (*word).to_owned()).unwrap_or_default()
    }

    fn of(word: &str) -> Option<Self> {
        match word.strip_prefix("wait-") {
            Some(seconds) => seconds.parse().ok().map(Reason::Wait),
            None => WORDS.iter().find(|(known, _)| *known == word).map(|(_, reason)| *reason),
        }
    }

    fn text(self) -> String {
        match self {
            Reason::Wrong => "The name or the password is wrong.".into(),
            Reason::Busy => "The service is busy. Try again in a moment.".into(),
            Reason::Wait(seconds) => {
                format!("There were too many wrong passwords. Try again in {seconds} seconds.")
            }
            Reason::Taken => "This name is taken. Choose another one.".into(),
            Reason::Invalid(error) => {
                let text = error.to_string();
                let mut rest = text.chars();
                let first = rest.next().map(|first| first.to_ascii_uppercase());
                first.into_iter().chain(rest).chain(['.']).collect()
            }
        }
    }

    /// The field that gets the focus.
    fn field(self) -> Option<Field> {
        match self {
            Reason::Busy | Reason::Wait(_) => None,
            Reason::Taken
            | Reason::Invalid(
                AccountError::NameLength | AccountError::NameCharacters | AccountError::NameInvisible,
            ) => Some(Field::Name),
            Reason::Wrong | Reason::Invalid(_) => Some(Field::Password),
        }
    }
}

impl Notice {
    pub(super) fn error(&self) -> FormError {
        FormError { field: self.reason.field(), text: self.reason.text() }
    }
}

impl AuthorizationServer {
    /// Redirects to the page of a form, which says why the form was rejected.
    pub(super) fn back_to_form(
        &self,
        headers: &HeaderMap,
        page: &str,
        reason: Reason,
        name: &str,
    ) -> Response {
        let mut response = see_other(page);
        // No account has a longer name, and a cookie must be short.
        let name = if name.chars().count() > LONGEST_NAME { "" } else { name };
        let content = format!("{}.{}", reason.word(), BASE64_URL_SAFE_NO_PAD.encode(name));
        if let Some(seal) = self.seal(headers, page, &content) {
            let seal = BASE64_URL_SAFE_NO_PAD.encode(seal.finalize().into_bytes());
            self.set_cookie(&mut response, Cookie::Notice, Some(&format!("{content}.{seal}")));
        }
        response
    }

    /// The notice for the page at this address, if a form of it was just rejected.
    pub(super) fn notice(&self, headers: &HeaderMap, page: &str) -> Option<Notice> {
        let cookie = self.cookie(headers, Cookie::Notice)?;
        let (content, seal) = cookie.rsplit_once('.')?;
        let seal = BASE64_URL_SAFE_NO_PAD.decode(seal).ok()?;
        self.seal(headers, page, content)?.verify_slice(&seal).ok()?;
        let (word, name) = content.split_once('.')?;
        let name = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
        Some(Notice { reason: Reason::of(word)?, name })
    }

    /// Binds a notice to one page in one browser: the key is the secret of the browser's forms, which every process can check.
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
    fn reasons_round_trip_through_a_cookie() {
        for reason in
            WORDS.into_iter().map(|(_, reason)| reason).chain([Reason::Wait(0), Reason::Wait(u64::MAX)])
        {
            assert_eq!(Reason::of(&reason.word()), Some(reason));
            assert!(!reason.word().contains('.'), "{reason:?}");
            assert!(reason.text().ends_with('.'), "{reason:?}");
        }
        for word in ["", "wait-", "wait--1", "wait-1.5", "Wrong", "password"] {
            assert_eq!(Reason::of(word), None, "{word}");
        }
    }
}
