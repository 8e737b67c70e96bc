//! HTTP Basic: valid and malformed credentials.

use axum::http::StatusCode;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use testkit::Answer;

use crate::support::{PASSWORD, World};

const CHALLENGE: &str = r#"Basic realm="Test", charset="UTF-8""#;
const WRONG: &str = "The name or the password is wrong.";
const MISSING: &str = "This operation needs HTTP Basic credentials.";
const MALFORMED: &str = "The Authorization header is not HTTP Basic: it must be the word Basic and the Base64 form of \
                         name:password.";

#[track_caller]
fn is_refused(answer: &Answer, detail: &str) {
    assert_eq!(answer.is_problem(401, "unauthorized"), detail);
    assert_eq!(answer.header("www-authenticate"), CHALLENGE);
}

async fn send(world: &World, authorization: &str) -> Answer {
    world.client.get("/me").header("authorization", authorization).send().await
}

fn basic(credentials: impl AsRef<[u8]>) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(credentials))
}

testkit::on_both_engines! {
    async fn only_the_right_password_is_accepted(world: World) {
        let id = world.add("ada", PASSWORD).await;
        let answer = world.client.signed_in("ada", PASSWORD).get("/me").send().await;
        assert_eq!(answer.has_status(200).text(), id.to_string());
        for (name, password) in [
            ("ada", "wrong horse"),
            ("ada", ""),
            ("ada", "Correct horse"),
            ("ada", "correct horse "),
            ("ada", "correct hors"),
            ("nobody", PASSWORD),
            ("Ada", PASSWORD),
            ("ada ", PASSWORD),
            ("", PASSWORD),
            ("", ""),
        ] {
            let answer = world.client.signed_in(name, password).get("/me").send().await;
            is_refused(&answer, WRONG);
        }
        // An unknown name and a wrong password look the same in everything but the request's id.
        let wrong = send(&world, &basic("ada:wrong horse")).await;
        let unknown = send(&world, &basic("nobody:wrong horse")).await;
        let common = |answer: &Answer| {
            let mut problem = answer.json();
            problem["instance"] = "".into();
            let mut headers = answer.headers.clone();
            headers.remove("x-request-id");
            headers.remove("date");
            (problem, headers)
        };
        assert_eq!(common(&wrong), common(&unknown));
    }

    async fn names_and_passwords_can_be_any_text(world: World) {
        for (name, password) in [
            ("zoë", "pässwörd"),
            ("日本", "パスワード密码密码"),
            ("with space", "with:colons:in:it"),
            ("o'neil; --", ":starts with one"),
            ("%41", "100% \"quoted\""),
            ("\u{1f600}", "emoji \u{1f600} password"),
        ] {
            let id = world.add(name, password).await;
            let answer = send(&world, &basic(format!("{name}:{password}"))).await;
            assert_eq!(answer.has_status(200).text(), id.to_string(), "{name}");
        }
        // The same name and password, as a machine that puts its accents behind the letters sends them.
        assert_eq!(world.call("zoe\u{308}", "pa\u{308}sswo\u{308}rd").await, 200);
        // What only looks the same is another name: a Cyrillic letter.
        assert_eq!(world.call("z\u{43e}ë", "pässwörd").await, 401);
    }

    async fn missing_or_malformed_credentials_get_401(world: World) {
        world.add("ada", PASSWORD).await;
        is_refused(&world.client.get("/me").send().await, MISSING);
        let good = BASE64_STANDARD.encode(format!("ada:{PASSWORD}"));
        for malformed in [
            String::new(),
            "Basic".into(),
            good.clone(),
            format!("Basic{good}"),
            format!("Bearer {good}"),
            format!("Digest {good}"),
            format!("Basic {good}!"),
            format!("Basic {}", good.trim_end_matches('=')),
            format!("Basic ada:{PASSWORD}"),
            basic("no colon"),
            basic(""),
        ] {
            is_refused(&send(&world, &malformed).await, MALFORMED);
        }
        is_refused(&send(&world, &basic(b"ada:\xff\xfe")).await, "The name and the password must be UTF-8.");
        let twice = world.client.get("/me").header("authorization", &basic(format!("ada:{PASSWORD}")));
        let twice = twice.header("authorization", &basic("ada:other")).send().await;
        is_refused(&twice, "There is more than one Authorization header.");
        for fine in [format!("basic {good}"), format!("BASIC {good}"), format!("Basic   {good}")] {
            send(&world, &fine).await.has_status(200);
        }
    }
}

testkit::on_one_engine! {
    async fn too_long_names_and_passwords_are_rejected(world: World) {
        world.add("ada", PASSWORD).await;
        for (name, password) in [
            ("a".repeat(101), PASSWORD.into()),
            ("a".repeat(20_000), PASSWORD.into()),
            ("ada".into(), "p".repeat(1025)),
            ("ada".into(), "p".repeat(30_000)),
            ("ada\0".into(), PASSWORD.to_owned()),
            ("a\nb".into(), PASSWORD.into()),
        ] {
            is_refused(&send(&world, &basic(format!("{name}:{password}"))).await, WRONG);
        }
        // None of these is a valid name, so none was counted as a guess.
        assert_eq!(world.meters().await, []);
        let longest = "p".repeat(1024);
        world.add("long", &longest).await;
        assert_eq!(world.call("long", &longest).await, StatusCode::OK);
    }

    async fn operation_is_not_reached_without_sign_in(world: World) {
        is_refused(&world.client.get("/me").send().await, MISSING);
        let head = world.client.call("HEAD".parse().unwrap(), "/me").send().await;
        assert_eq!((head.status, head.header("www-authenticate")), (401, CHALLENGE));
    }
}
