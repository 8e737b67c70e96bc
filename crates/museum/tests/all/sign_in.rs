//! Sign-in: which operations need it, and how credentials are checked.

use jiff::SignedDuration;
use serde_json::json;
use testkit::Answer;

use crate::{
    fixture::{ADA_BASIC, Open, general},
    openapi::operations,
};

const CHALLENGE: &str = "Basic realm=\"Museum\", charset=\"UTF-8\"";
const MALFORMED: &str = "The Authorization header is not HTTP Basic: it must be the word Basic and the Base64 form \
                         of name:password.";

/// Asserts a 401 that says how to sign in, and why this did not do.
#[track_caller]
fn is_challenge(answer: &Answer, detail: &str) {
    assert_eq!(answer.is_problem(401, "unauthorized"), detail);
    assert_eq!(answer.header("www-authenticate"), CHALLENGE);
}

#[track_caller]
fn is_wrong(answer: &Answer) {
    is_challenge(answer, "The name or the password is wrong.");
}

testkit::on_both_engines! {
    async fn all_operations_except_opening_hours_need_credentials(open: Open) {
        let mut asking = 0;
        for operation in operations() {
            let responses = &operation.document["responses"];
            if operation.document["security"] == json!([{}]) {
                assert!(["getMuseumHours", "getMuseumTime"].contains(&&*operation.id), "{}", operation.id);
                assert!(responses.get("401").is_none());
                open.anyone.call(operation.method, &operation.path).send().await.has_status(200);
                continue;
            }
            asking += 1;
            let id = &operation.id;
            assert!(
                operation.document.get("security").is_none(),
                "{id} keeps to what holds for the document"
            );
            assert_eq!(responses["401"], json!({"$ref": "#/components/responses/Unauthorized"}), "{id}");

            let call = |client: &testkit::Client| client.call(operation.method.clone(), &operation.path);
            let needed = "This operation needs HTTP Basic credentials.";
            is_challenge(&call(&open.anyone).send().await, needed);
            // Credentials are checked first.
            is_challenge(&call(&open.anyone).body("text/plain", "nonsense").send().await, needed);
            let path = format!("{}?limit=nonsense", operation.path.replace("dad4bce8", "nonsense"));
            is_challenge(&open.anyone.call(operation.method.clone(), &path).send().await, needed);
            // Another name each time, since guesses at one name are throttled.
            is_wrong(&call(&open.anyone.signed_in(id, "demo")).send().await);
            is_wrong(&call(&open.anyone.signed_in("", "")).send().await);
            for malformed in [
                "Basic",
                "Basic ",
                "Basic !!!",
                "Basic YWRh",
                "Bearer YWRhOnN3b3JkZmlzaC0x",
                "YWRhOnN3b3JkZmlzaC0x",
            ] {
                let answer = call(&open.anyone).header("authorization", malformed).send().await;
                is_challenge(&answer, MALFORMED);
            }
            let answer = call(&open.anyone).header("authorization", "Basic /zr/").send().await;
            is_challenge(&answer, "The name and the password must be UTF-8.");
            let twice = call(&open.ada).header("authorization", ADA_BASIC).send().await;
            is_challenge(&twice, "There is more than one Authorization header.");
            // With valid credentials the operation is reached.
            assert_ne!(call(&open.ada).send().await.status, 401, "{id}");
        }
        assert_eq!(asking, 10);
    }

    async fn credentials_are_read_as_http_basic(open: Open) {
        let path = "/v1.1/special-events";
        for fine in [ADA_BASIC.to_owned(), ADA_BASIC.replace("Basic", "basic"), ADA_BASIC.replace(' ', "   ")]
        {
            open.anyone.get(path).header("authorization", &fine).send().await.is(200, &json!([]));
        }
        for (name, password) in [("zoë 🦑", "pässwört🔑"), ("colons", "pass:word:word")] {
            open.museum.accounts().add(name, password.into()).await.unwrap();
            open.anyone.signed_in(name, password).get(path).send().await.is(200, &json!([]));
        }
        let (long_name, long_password) = ("n".repeat(101), "p".repeat(4000));
        for (name, password) in [
            ("ada", "swordfish-2"),
            ("ada", ""),
            ("Ada", "swordfish-1"),
            ("ada ", "swordfish-1"),
            ("colons", "pass"),
            ("a\0da", "swordfish-1"),
            ("ada", "swordfish-1\0"),
            (&long_name, "swordfish-1"),
            ("ada", &long_password),
            ("' OR 1=1 --", "swordfish-1"),
        ] {
            is_wrong(&open.anyone.signed_in(name, password).get(path).send().await);
        }
    }

    async fn changed_password_and_removed_account_take_effect_at_once(open: Open) {
        let path = "/v1.1/special-events";
        open.ada.get(path).send().await.has_status(200);
        open.museum.accounts().set_password("ada", "another-fish".into()).await.unwrap();
        is_wrong(&open.ada.get(path).send().await);
        let ada = open.anyone.signed_in("ada", "another-fish");
        ada.get(path).send().await.has_status(200);
        open.museum.accounts().remove("ada").await.unwrap();
        is_wrong(&ada.get(path).send().await);
        is_wrong(&open.ada.get(path).send().await);
        open.ben.get(path).send().await.has_status(200);
    }

    async fn password_guessing_is_throttled(open: Open) {
        let path = "/v1.1/special-events";
        let guess = async |guess: &str| open.anyone.signed_in("ada", guess).get(path).send().await;
        #[track_caller]
        fn is_slowed(answer: &Answer, seconds: u32) {
            let detail = answer.is_problem(429, "too-many-requests");
            assert_eq!(
                detail,
                format!("There were too many wrong passwords. Try again in {seconds} seconds.")
            );
            assert_eq!(answer.header("retry-after"), seconds.to_string());
            assert_eq!(answer.header("www-authenticate"), "");
        }
        for number in 0..10 {
            is_wrong(&guess(&format!("guess {number}")).await);
        }
        is_slowed(&guess("guess 10").await, 30);
        // The right password is not checked either: the answer would reveal that it is right.
        is_slowed(&open.ada.get(path).send().await, 30);
        is_slowed(&open.buy(&general("2026-05-20")).await, 30);
        // Others can sign in, and what needs no sign-in is there.
        open.ben.get(path).send().await.has_status(200);
        open.ada.get("/v1.1/museum-hours").send().await.has_status(200);
        open.clock.advance(SignedDuration::from_secs(10));
        is_slowed(&guess("guess 11").await, 20);
        open.clock.advance(SignedDuration::from_secs(20));
        is_wrong(&guess("guess 12").await);
        is_slowed(&guess("guess 13").await, 30);
        open.clock.advance(SignedDuration::from_secs(30));
        open.ada.get(path).send().await.has_status(200);
        // Also after an earlier sign-in: guesses from the same address would otherwise reveal the right one.
        for number in 20..30 {
            is_wrong(&guess(&format!("guess {number}")).await);
        }
        is_slowed(&guess("guess 30").await, 30);
        is_slowed(&open.ada.get(path).send().await, 30);
    }
}
