//! Access tokens that are rejected, each made from a valid one (RFC 8725, RFC 6750).

use aws_lc_rs::{
    hmac,
    rand::SystemRandom,
    rsa::{KeyPair, KeySize},
    signature::{RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaEncoding},
};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};
use testkit::Answer;

use super::fixture::{Harness, Service, text};

fn part(value: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}

fn read(part: &str) -> Value {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// A value with these members replaced; `null` removes a member.
fn with(value: &Value, changes: &Value) -> Value {
    let mut changed = value.clone();
    let members = changed.as_object_mut().unwrap();
    for (name, change) in changes.as_object().unwrap() {
        match change {
            Value::Null => members.remove(name),
            change => members.insert(name.clone(), change.clone()),
        };
    }
    changed
}

/// A valid token and its signing key, so that each forged token fails by its own check and not by the signature.
struct Forge {
    header: Value,
    claims: Value,
    token: String,
    key: KeyPair,
}

impl Forge {
    async fn new(harness: &Harness) -> Self {
        let (token, _) = harness.service.tokens(&[]).await;
        let parts: Vec<_> = token.split('.').collect();
        let (header, claims) = (read(parts[0]), read(parts[1]));
        let keys = harness
            .db
            .read(|tx| tx.row("SELECT private_key FROM signing_key", &[], |row| row.get::<Vec<u8>>(0)));
        let der = keys.await.unwrap_or_else(|error: db::Error| panic!("{error}")).unwrap();
        Forge { header, claims, token, key: KeyPair::from_pkcs8(&der).unwrap() }
    }

    /// The token with other members in its header and claims, rightly signed.
    fn signed(&self, header: &Value, claims: &Value) -> String {
        sign(&self.key, &RSA_PKCS1_SHA256, &with(&self.header, header), &with(&self.claims, claims))
    }

    fn header(&self, header: &Value) -> String {
        self.signed(header, &json!({}))
    }

    fn claims(&self, claims: &Value) -> String {
        self.signed(&json!({}), claims)
    }

    /// The token with this header, signed by HMAC with the public key.
    fn by_hmac(&self, secret: &[u8]) -> String {
        let body = format!("{}.{}", part(&with(&self.header, &json!({"alg": "HS256"}))), part(&self.claims));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), body.as_bytes());
        format!("{body}.{}", BASE64_URL_SAFE_NO_PAD.encode(tag))
    }
}

fn sign(key: &KeyPair, how: &'static dyn RsaEncoding, header: &Value, claims: &Value) -> String {
    let body = format!("{}.{}", part(header), part(claims));
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(how, &SystemRandom::new(), body.as_bytes(), &mut signature).unwrap();
    format!("{body}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

fn challenge(service: &Service) -> String {
    let metadata = format!("{}/.well-known/oauth-protected-resource", service.issuer);
    format!("Bearer realm=\"Test service\", resource_metadata=\"{metadata}\"")
}

#[track_caller]
fn is_invalid(what: &str, service: &Service, answer: &Answer, why: &str) {
    let challenge = challenge(service);
    assert_eq!(
        answer.header("www-authenticate"),
        format!("{challenge}, error=\"invalid_token\", error_description=\"the access token {why}\""),
        "{what}"
    );
    assert_eq!(answer.is_problem(401, "unauthorized"), format!("The access token {why}."), "{what}");
}

testkit::on_one_engine! {
    async fn token_header_cannot_choose_its_verification(harness: Harness) {
        let service = &harness.service;
        let forge = Forge::new(&harness).await;
        service.call("/v1/read", &forge.header(&json!({}))).await.has_status(200);
        service.call("/v1/read", &forge.header(&json!({"typ": "application/AT+JWT"}))).await.has_status(200);
        let jwks = service.client.get("/oauth/jwks.json").send().await.json();
        let jwk = &jwks["keys"][0];
        let modulus = BASE64_URL_SAFE_NO_PAD.decode(text(&jwk["n"])).unwrap();
        let spki = aws_lc_rs::encoding::AsDer::as_der(aws_lc_rs::signature::KeyPair::public_key(&forge.key));
        let spki: aws_lc_rs::encoding::PublicKeyX509Der<'_> = spki.unwrap();
        let encoded = BASE64_STANDARD.encode(spki.as_ref());
        let lines = encoded.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap());
        let lines: Vec<_> = lines.collect();
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
        let none = with(&forge.header, &json!({"alg": "none"}));
        let none = format!("{}.{}.", part(&none), part(&forge.claims));
        let rs512 = with(&forge.header, &json!({"alg": "RS512"}));
        let own = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let foreign = |header: &Value| {
            sign(&own, &RSA_PKCS1_SHA256, &with(&forge.header, header), &forge.claims)
        };
        let own_jwk = {
            let public = aws_lc_rs::signature::KeyPair::public_key(&own);
            let n = BASE64_URL_SAFE_NO_PAD.encode(public.modulus().big_endian_without_leading_zero());
            json!({"kty": "RSA", "n": n, "e": "AQAB", "kid": forge.header["kid"]})
        };
        let not_rs256 = "is not signed by RS256";
        let other_type = "is of another type than at+jwt";
        for (what, token, why) in [
            ("none", none, "is malformed"),
            ("HMAC with the modulus", forge.by_hmac(&modulus), not_rs256),
            ("HMAC with the modulus as text", forge.by_hmac(text(&jwk["n"]).as_bytes()), not_rs256),
            ("HMAC with the key as PEM", forge.by_hmac(pem.as_bytes()), not_rs256),
            ("HMAC with the key as DER", forge.by_hmac(spki.as_ref()), not_rs256),
            ("HMAC with the JWK", forge.by_hmac(jwk.to_string().as_bytes()), not_rs256),
            ("HMAC with nothing", forge.by_hmac(b""), not_rs256),
            ("RS512", sign(&forge.key, &RSA_PKCS1_SHA512, &rs512, &forge.claims), not_rs256),
            ("RS512 called RS256", sign(&forge.key, &RSA_PKCS1_SHA512, &forge.header, &forge.claims),
                "has a wrong signature"),
            ("an unknown algorithm", forge.header(&json!({"alg": "XX"})), "is malformed"),
            ("no algorithm", forge.header(&json!({"alg": null})), "is malformed"),
            ("a plain JWT", forge.header(&json!({"typ": "JWT"})), other_type),
            ("an ID token", forge.header(&json!({"typ": "id+jwt"})), other_type),
            ("no type", forge.header(&json!({"typ": null})), other_type),
            ("no key", forge.header(&json!({"kid": null})), "names no key"),
            ("an unknown key", forge.header(&json!({"kid": "x"})), "is signed by an unknown key"),
            (
                "a path for a key", forge.header(&json!({"kid": "../../dev/null"})),
                "is signed by an unknown key",
            ),
            ("SQL for a key", forge.header(&json!({"kid": "' OR 1=1 --"})), "is signed by an unknown key"),
            ("a key of its own", foreign(&json!({})), "has a wrong signature"),
            ("a key of its own within", foreign(&json!({"jwk": own_jwk})), "has a wrong signature"),
            (
                "keys elsewhere", foreign(&json!({"jku": "https://evil.example/jwks"})),
                "has a wrong signature",
            ),
            (
                "a certificate elsewhere", foreign(&json!({"x5u": "https://evil.example/c"})),
                "has a wrong signature",
            ),
            ("a critical header", forge.header(&json!({"crit": ["exp"], "exp": 1})),
                "has critical headers that are not understood"),
            ("no critical headers", forge.header(&json!({"crit": []})),
                "has critical headers that are not understood"),
        ] {
            is_invalid(what, service, &service.call("/v1/read", &token).await, why);
        }
    }

    async fn token_with_missing_or_wrong_claims_is_rejected(harness: Harness) {
        let service = &harness.service;
        let forge = Forge::new(&harness).await;
        let now = harness.clock.now().as_second();
        for claims in [
            json!({"aud": format!("{}/v1", service.issuer)}),
            json!({"aud": ["https://other.example", service.issuer]}),
            json!({"nbf": now, "iat": now + 60, "exp": now + 1}),
        ] {
            service.call("/v1/read", &forge.claims(&claims)).await.has_status(200);
        }
        for (claims, why) in [
            (json!({"aud": "https://other.example"}), "is for another audience"),
            (json!({"aud": format!("{}/", service.issuer)}), "is for another audience"),
            (json!({"aud": []}), "is for another audience"),
            (json!({"aud": null}), "lacks the claim aud"),
            (json!({"aud": 1}), "has a claim aud of a wrong type"),
            (json!({"iss": "https://other.example"}), "is from another issuer"),
            (json!({"iss": format!("{}/", service.issuer)}), "is from another issuer"),
            (json!({"iss": null}), "lacks the claim iss"),
            (json!({"iss": [service.issuer]}), "has a claim iss of a wrong type"),
            (json!({"exp": null}), "lacks the claim exp"),
            (json!({"exp": (now + 600).to_string()}), "has a claim exp of a wrong type"),
            (json!({"exp": 1e300}), "has a claim exp of a wrong type"),
            (json!({"exp": i64::MAX}), "has a claim exp of a wrong type"),
            (json!({"exp": now}), "has expired"),
            (json!({"exp": now - 1}), "has expired"),
            (json!({"exp": -1}), "has expired"),
            (json!({"nbf": now + 1}), "is not valid yet"),
            (json!({"nbf": "x"}), "has a claim nbf of a wrong type"),
            (json!({"iat": now + 61}), "is not valid yet"),
            (json!({"iat": null}), "lacks the claim iat"),
            (json!({"jti": null}), "lacks the claim jti"),
            (json!({"jti": "x"}), "was revoked"),
            (json!({"jti": "00000000000000000000000000000000.1"}), "was revoked"),
            (json!({"sub": null}), "lacks the claim sub"),
            (json!({"client_id": null}), "lacks the claim client_id"),
        ] {
            let answer = service.call("/v1/read", &forge.claims(&claims)).await;
            is_invalid(&claims.to_string(), service, &answer, why);
        }
        let text = "{\"iss\":\"a\",\"iss\":\"b\"}";
        let body = format!("{}.{}", part(&forge.header), BASE64_URL_SAFE_NO_PAD.encode(text));
        let mut signature = vec![0; forge.key.public_modulus_len()];
        forge.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), body.as_bytes(), &mut signature).unwrap();
        let twice = format!("{body}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature));
        is_invalid("a claim twice", service, &service.call("/v1/read", &twice).await, "is malformed");
        for scope in [json!({"scope": null}), json!({"scope": ""}), json!({"scope": "reader READ"})] {
            let answer = service.call("/v1/read", &forge.claims(&scope)).await;
            answer.is_problem(403, "forbidden");
            let challenge = challenge(service);
            let expected = format!("{challenge}, error=\"insufficient_scope\", scope=\"read\"");
            assert_eq!(answer.header("www-authenticate"), expected);
        }
    }

    async fn malformed_token_is_rejected(harness: Harness) {
        let service = &harness.service;
        let forge = Forge::new(&harness).await;
        let token = &forge.token;
        let (body, signature) = token.rsplit_once('.').unwrap();
        let (header, claims) = body.split_once('.').unwrap();
        let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
        let half = format!("{body}.{}", BASE64_URL_SAFE_NO_PAD.encode(&bytes[..128]));
        bytes[100] ^= 1;
        let flipped = format!("{body}.{}", BASE64_URL_SAFE_NO_PAD.encode(bytes));
        let richer = part(&with(&forge.claims, &json!({"scope": "read write"})));
        let malformed = "is malformed";
        let wrong = "has a wrong signature";
        for (what, token, why) in [
            ("a flipped bit", flipped, wrong),
            ("more claims", format!("{header}.{richer}.{signature}"), wrong),
            ("half a signature", half, wrong),
            ("no signature", format!("{body}."), wrong),
            ("two parts", body.to_owned(), malformed),
            ("one part", header.to_owned(), malformed),
            ("four parts", format!("{token}.{claims}"), malformed),
            ("dots", "..".to_owned(), malformed),
            ("no Base64", format!("{header}.*.{signature}"), wrong),
            ("a refresh token", service.tokens(&[]).await.1, malformed),
            ("two tokens", format!("{token} {token}"), malformed),
            ("a comma", format!("{token},{token}"), malformed),
            ("a long one", format!("{token}{}", "A".repeat(8 * 1024)), "is too long"),
        ] {
            is_invalid(what, service, &service.call("/v1/read", &token).await, why);
        }
        service.call("/v1/read", token).await.has_status(200);
    }

    async fn repeated_token_or_token_in_the_query_is_rejected(harness: Harness) {
        let service = &harness.service;
        let (token, _) = service.tokens(&[]).await;
        let bearer = format!("Bearer {token}");
        let get = |path: &str| service.client.get(path);
        let bare = challenge(service);
        let basic = format!("Basic {}", BASE64_STANDARD.encode("ada:correct horse"));
        for (what, call) in [
            ("nothing", get("/v1/read")),
            ("Basic", get("/v1/read").header("authorization", &basic)),
            ("no scheme", get("/v1/read").header("authorization", &token)),
            ("a scheme alone", get("/v1/read").header("authorization", "Bearer")),
            ("a scheme and a blank", get("/v1/read").header("authorization", "Bearer ")),
            ("another scheme", get("/v1/read").header("authorization", &format!("DPoP {token}"))),
            ("a cookie", get("/v1/read").header("cookie", &format!("access_token={token}"))),
        ] {
            let answer = call.send().await;
            assert_eq!(answer.header("www-authenticate"), bare, "{what}");
            let detail = answer.is_problem(401, "unauthorized");
            assert_eq!(detail, "This operation needs an access token, as a bearer token.", "{what}");
        }
        let in_query = "an access token must be in the Authorization header, not in the address";
        let two = "there is more than one Authorization header";
        let query = format!("/v1/read?access_token={token}");
        let not_text = "Bearer \u{e9}";
        for (what, call, why) in [
            ("in the query", get(&query), in_query),
            ("in the query too", get(&query).header("authorization", &bearer), in_query),
            (
                "two headers",
                get("/v1/read").header("authorization", &bearer).header("authorization", &bearer),
                two,
            ),
            (
                "two ways", get("/v1/read").header("authorization", &basic).header("authorization", &bearer),
                two,
            ),
            (
                "not ASCII", get("/v1/read").header("authorization", not_text),
                "the Authorization header is not text",
            ),
        ] {
            let answer = call.send().await;
            let expected = format!("{bare}, error=\"invalid_request\", error_description=\"{why}\"");
            assert_eq!(answer.header("www-authenticate"), expected, "{what}");
            let detail = answer.is_problem(400, "invalid-request");
            assert_eq!(detail, format!("The credentials cannot be read: {why}."), "{what}");
        }
        get("/v1/read").header("authorization", &format!("bearer {token}")).send().await.has_status(200);
        get("/v1/open").send().await.has_status(200);
    }
}
