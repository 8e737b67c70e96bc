//! The names of secrets.

/// Names in which only letters and digits count, all in lower case.
const SECRETS: [&str; 18] = [
    "accountnumber",
    "authorization",
    "assertion",
    "cardnumber",
    "clientassertion",
    "code",
    "codeverifier",
    "cookie",
    "credential",
    "credentials",
    "csrf",
    "cvc",
    "devicecode",
    // Of a card or an account.
    "number",
    "passphrase",
    "privatekey",
    "session",
    "sessionid",
];

/// Endings of names, such as `new_password`, `X-API-Key` and `registration_access_token`.
const ENDINGS: [&str; 7] = ["password", "passwd", "pwd", "secret", "token", "apikey", "secretkey"];

/// Whether a member, a field, a parameter or a header of this name has a secret: `client_secret`, `clientSecret`,
/// `user[password]`. Case and punctuation do not count.
pub fn is_secret_name(name: &str) -> bool {
    name.split(['[', ']', '.', ':', '/']).any(is_secret_word)
}

fn is_secret_word(word: &str) -> bool {
    let letters = word.chars().filter(|letter| letter.is_alphanumeric());
    let word: String = letters.flat_map(char::to_lowercase).collect();
    SECRETS.contains(&&*word) || ENDINGS.iter().any(|ending| word.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_found_in_every_style() {
        for name in [
            "password",
            "Password",
            "PASSWORD",
            "new_password",
            "newPassword",
            "user[password]",
            "user.password",
            "client_secret",
            "clientSecret",
            "client-secret",
            "secret",
            "code",
            "code_verifier",
            "refresh_token",
            "access_token",
            "id_token",
            "token",
            "registration_access_token",
            "control_token",
            "api_key",
            "api-key",
            "apiKey",
            "X-API-Key",
            "x_csrf_token",
            "session",
            "sessionId",
            "X-Secret-Key",
            "awsSecretKey",
            "assertion",
            "cvc",
            "number",
            "card_number",
            "pass word",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn other_names_are_no_secrets() {
        for name in [
            "",
            "name",
            "username",
            "token_type",
            "expires_in",
            "scope",
            "client_id",
            "grant_type",
            "status_code",
            "country_code",
            "codes",
            "code_challenge",
            "numbers",
            "state",
            "redirect_uri",
            "passenger_name",
            "has_dog",
            "secretary",
            "id",
            "key",
            "idempotency-key",
            "passwords_changed_at",
            "error",
            "x-request-id",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
