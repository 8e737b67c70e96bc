//! Every operation with no credential, a wrong one, one with too few rights, and the right one.

use std::collections::BTreeSet;

use serde_json::json;
use testkit::Answer;

use crate::{
    answers::pet_with,
    fixture::{As, Open},
    openapi::operations,
};

/// What an operation wants of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    /// Nothing.
    Nothing,
    /// An access token with both scopes.
    Pets,
    /// That, or an API key.
    KeyOrPets,
    /// An API key.
    Key,
    /// A user who logged in.
    LoggedIn,
    /// The same, where creating users needs a session.
    LoggedInUnlessOpen,
}

/// Every operation, its credential, and its answer to an authorized call without a body.
const TABLE: &[(&str, Wants, u16)] = &[
    ("addPet", Wants::Pets, 415),
    ("updatePet", Wants::Pets, 415),
    ("findPetsByStatus", Wants::Pets, 200),
    ("findPetsByTags", Wants::Pets, 400),
    ("getPetById", Wants::KeyOrPets, 200),
    ("updatePetWithForm", Wants::Pets, 400),
    ("deletePet", Wants::KeyOrPets, 200),
    ("uploadFile", Wants::Pets, 400),
    ("getImage", Wants::Nothing, 404),
    ("getInventory", Wants::Key, 200),
    ("placeOrder", Wants::Nothing, 415),
    ("getOrderById", Wants::Nothing, 404),
    ("deleteOrder", Wants::Nothing, 404),
    ("createUser", Wants::LoggedIn, 415),
    ("createUsersWithListInput", Wants::LoggedInUnlessOpen, 415),
    ("loginUser", Wants::Nothing, 400),
    ("logoutUser", Wants::Nothing, 200),
    ("getUserByName", Wants::Nothing, 200),
    ("updateUser", Wants::LoggedIn, 415),
    ("deleteUser", Wants::LoggedIn, 200),
];

const KEY: &str = "ApiKey realm=\"Pet store\", header=\"api_key\"";
const SESSION: &str = "Bearer realm=\"Pet store\"";

/// The challenges of an answer, all of them.
fn challenges(answer: &Answer) -> Vec<&str> {
    answer.headers.get_all("www-authenticate").iter().map(|value| value.to_str().unwrap()).collect()
}

/// Asserts a problem with exactly these challenges.
#[track_caller]
fn is_refused(answer: &Answer, status: u16, detail: &str, expected: &[&str]) {
    let kind = match status {
        400 => "invalid-request",
        401 => "unauthorized",
        _ => "forbidden",
    };
    assert_eq!(answer.is_problem(status, kind), detail);
    assert_eq!(challenges(answer), expected);
}

impl Open {
    /// The challenge for an access token, with the error of the sent one.
    fn bearer_challenge(&self, error: &str) -> String {
        let address = &self.address;
        format!("{SESSION}, resource_metadata=\"{address}/.well-known/oauth-protected-resource\"{error}")
    }
}

const NEEDS_TOKEN: &str = "This operation needs an access token, as a bearer token.";
const NEEDS_KEY: &str = "This operation needs an API key, in the header api_key or X-API-Key.";
const NEEDS_EITHER: &str = "This operation needs an API key, in the header api_key or X-API-Key, or an access token, as a \
                            bearer token.";
const NOT_A_SESSION: &str = "An access token is not a session, and operations on users take sessions only. Log in at \
                             /v3/user/login, and send the session as a bearer token or as its cookie.";
const NEEDS_LOGIN: &str = "This operation needs a user who has logged in. Log in at /v3/user/login, and send the session as \
                           a bearer token or as its cookie.";
const HAS_ENDED: &str = "The session has ended. Log in at /v3/user/login, and send the session as a bearer token or as its \
                         cookie.";
const NEEDS_SCOPES: &str = "The access token needs the scopes write:pets read:pets.";

#[test]
fn all_operations_are_in_the_table_and_match_the_document() {
    let documented: BTreeSet<_> = operations().into_iter().map(|operation| operation.id).collect();
    let listed: BTreeSet<_> = TABLE.iter().map(|(id, _, _)| (*id).to_owned()).collect();
    assert_eq!(documented, listed);
    for operation in operations() {
        let (id, wants, _) = TABLE.iter().find(|(id, _, _)| *id == operation.id).unwrap();
        let both = json!(["write:pets", "read:pets"]);
        let (security, refusals) = match wants {
            Wants::Nothing => (json!([{}]), &[][..]),
            Wants::Pets => (json!([{"petstore_auth": both}]), &["401", "403", "429"][..]),
            Wants::KeyOrPets => {
                (json!([{"api_key": []}, {"petstore_auth": both}]), &["401", "403", "429"][..])
            }
            Wants::Key => (json!([{"api_key": []}]), &["401"][..]),
            Wants::LoggedIn => (json!([{"session": []}]), &["401", "429"][..]),
            Wants::LoggedInUnlessOpen => (json!([{}, {"session": []}]), &["401", "429"][..]),
        };
        assert_eq!(operation.document["security"], security, "{id}");
        for code in refusals {
            assert!(operation.document["responses"].get(code).is_some(), "{id} {code}");
        }
        assert_eq!(operation.document["responses"].get("401").is_some(), !refusals.is_empty(), "{id}");
    }
}

testkit::on_both_engines! {
    async fn operation_accepts_only_its_kind_of_credential(open: Open) {
        let session = open.session_of("ada").await;
        let weak: Vec<_> =
            [open.token_of("ada", Some("read:pets")).await, open.token_of("ada", Some("write:pets")).await]
                .map(|token| open.anyone.bearer(&token))
                .into();
        let program = open.anyone.bearer(&open.token_of_a_client().await);
        let garbage = open.anyone.bearer("no.such.token");
        let wrong_key = open.anyone.with("api_key", "wrong");
        let malformed = open.bearer_challenge(
            ", error=\"invalid_token\", error_description=\"the access token is malformed\"",
        );
        let scope = open.bearer_challenge(", error=\"insufficient_scope\", scope=\"write:pets read:pets\"");
        let missing = open.bearer_challenge("");
        // Deletions come last, since the other operations need the resources.
        let (delete, other): (Vec<_>, Vec<_>) =
            operations().into_iter().partition(|operation| operation.method == http::Method::DELETE);
        for operation in other.into_iter().chain(delete) {
            let (id, wants, reached) = TABLE.iter().find(|(id, _, _)| *id == operation.id).unwrap();
            // The pet and the user that the paths name; deleting one of them is part of the table.
            open.add(&pet_with("Rex", "id", 1)).await;
            let call =
                async |caller: &As| caller.call(operation.method.clone(), &operation.path).send().await;
            let before = open.dump().await;
            let none = call(&open.anyone).await;
            match wants {
                Wants::Nothing => {
                    assert_eq!(none.status, *reached, "{id}");
                    assert_eq!(challenges(&none), [""; 0], "{id}");
                    continue;
                }
                Wants::Pets | Wants::KeyOrPets => {
                    let with_key = *wants == Wants::KeyOrPets;
                    let all = if with_key { vec![missing.as_str(), KEY] } else { vec![missing.as_str()] };
                    let needs = if with_key { NEEDS_EITHER } else { NEEDS_TOKEN };
                    is_refused(&none, 401, needs, &all);
                    is_refused(&call(&garbage).await, 401, "The access token is malformed.", &[&malformed]);
                    // A session is not an access token.
                    let by_session = call(&open.anyone.bearer(&session)).await;
                    is_refused(&by_session, 401, "The access token is malformed.", &[&malformed]);
                    let by_cookie =
                        call(&open.anyone.with("cookie", format!("petstore_session={session}"))).await;
                    is_refused(&by_cookie, 401, needs, &all);
                    for weak in &weak {
                        is_refused(&call(weak).await, 403, NEEDS_SCOPES, &[&scope]);
                    }
                    let with_wrong_key = call(&wrong_key).await;
                    if with_key {
                        is_refused(&with_wrong_key, 401, "The API key is not valid.", &all);
                    } else {
                        is_refused(&with_wrong_key, 401, NEEDS_TOKEN, &all);
                        is_refused(&call(&open.key).await, 401, NEEDS_TOKEN, &all);
                    }
                    assert_eq!(open.dump().await, before, "{id}");
                    if with_key {
                        assert_eq!(call(&open.key).await.status, *reached, "{id}");
                        open.add(&pet_with("Rex", "id", 1)).await;
                    }
                    assert_eq!(call(&open.pets).await.status, *reached, "{id}");
                    // A client with its own token may do the same, if the resource still exists.
                    let done = if *id == "deletePet" { 404 } else { *reached };
                    assert_eq!(call(&program).await.status, done, "{id}");
                }
                Wants::Key => {
                    is_refused(&none, 401, NEEDS_KEY, &[KEY]);
                    is_refused(&call(&wrong_key).await, 401, "The API key is not valid.", &[KEY]);
                    is_refused(&call(&open.pets).await, 401, NEEDS_KEY, &[KEY]);
                    is_refused(&call(&open.ada).await, 401, NEEDS_KEY, &[KEY]);
                    assert_eq!(call(&open.key).await.status, *reached, "{id}");
                }
                Wants::LoggedIn | Wants::LoggedInUnlessOpen => {
                    is_refused(&none, 401, NEEDS_LOGIN, &[SESSION]);
                    is_refused(&call(&open.key).await, 401, NEEDS_LOGIN, &[SESSION]);
                    is_refused(&call(&open.anyone.bearer("no-session")).await, 401, HAS_ENDED, &[SESSION]);
                    is_refused(
                        &call(&open.anyone.with("cookie", "petstore_session=none")).await,
                        401,
                        HAS_ENDED,
                        &[SESSION],
                    );
                    // An access token is not a session, for any user and any scope.
                    for token in [&garbage, &program, &open.pets, &weak[0], &weak[1]] {
                        is_refused(&call(token).await, 401, NOT_A_SESSION, &[SESSION]);
                    }
                    assert_eq!(open.dump().await, before, "{id}");
                    assert_eq!(call(&open.ada).await.status, *reached, "{id}");
                }
            }
        }
    }

    async fn valid_key_or_token_is_enough(open: Open) {
        open.add(&pet_with("Rex", "id", 1)).await;
        let key = open.key.headers[0].1.clone();
        let weak = open.token_of("ada", Some("read:pets")).await;
        for caller in [
            open.pets.with("api_key", key.clone()),
            open.pets.with("api_key", "wrong"),
            open.pets.with("x-api-key", "wrong"),
            open.key.bearer(&weak),
            open.key.bearer("no.such.token"),
            open.anyone.with("x-api-key", key).bearer("no.such.token"),
        ] {
            caller.get("/v3/pet/1").send().await.has_status(200);
        }
        // If neither is valid, both challenges are sent, with the error of the token.
        let malformed = open.bearer_challenge(
            ", error=\"invalid_token\", error_description=\"the access token is malformed\"",
        );
        let wrong = open.anyone.with("api_key", "wrong");
        let answer = wrong.bearer("no.such.token").get("/v3/pet/1").send().await;
        is_refused(&answer, 401, "The access token is malformed.", &[&malformed, KEY]);
        let scope = open.bearer_challenge(", error=\"insufficient_scope\", scope=\"write:pets read:pets\"");
        let answer = wrong.bearer(&weak).get("/v3/pet/1").send().await;
        is_refused(&answer, 403, NEEDS_SCOPES, &[&scope, KEY]);
    }

    async fn key_is_accepted_as_x_api_key(open: Open) {
        open.add(&pet_with("Rex", "id", 1)).await;
        let key = open.key.headers[0].1.clone();
        for path in ["/v3/pet/1", "/v3/store/inventory"] {
            for caller in [
                open.anyone.with("x-api-key", key.clone()),
                open.anyone.with("X-API-Key", key.clone()),
                open.key.with("x-api-key", "wrong"),
                open.anyone.with("api_key", "wrong").with("x-api-key", key.clone()),
            ] {
                caller.get(path).send().await.has_status(200);
            }
            let wrong = open.anyone.with("x-api-key", "wrong").get(path).send().await;
            assert_eq!(wrong.is_problem(401, "unauthorized"), "The API key is not valid.");
            assert!(challenges(&wrong).contains(&KEY), "{path}");
            let twice = open.anyone.with("x-api-key", "wrong").with("x-api-key", key.clone());
            let said = "There is more than one x-api-key header; send one.";
            is_refused(&twice.get(path).send().await, 400, said, &[]);
        }
    }

    async fn answers_to_a_key_are_no_store(open: Open) {
        open.add(&pet_with("Rex", "id", 1)).await;
        for path in ["/v3/pet/1", "/v3/store/inventory"] {
            for (caller, status) in [(&open.key, 200), (&open.anyone, 401)] {
                let answer = caller.get(path).send().await;
                assert_eq!(answer.has_status(status).header("cache-control"), "no-store", "{path}");
                let vary: Vec<_> = answer.headers.get_all("vary").iter().collect();
                assert!(vary.iter().any(|value| *value == "api_key, x-api-key"), "{path} {vary:?}");
            }
        }
    }

    async fn repeated_credentials_get_400(open: Open) {
        open.add(&pet_with("Rex", "id", 1)).await;
        let twice = open.key.with("api_key", "wrong").get("/v3/pet/1").send().await;
        is_refused(&twice, 400, "There is more than one api_key header; send one.", &[]);
        let twice = open.key.with("api_key", "wrong").get("/v3/store/inventory").send().await;
        is_refused(&twice, 400, "There is more than one api_key header; send one.", &[]);
        // Two of the same kind cannot be read at all.
        for path in ["/v3/pet/1", "/v3/pet/findByStatus"] {
            let why = "there is more than one Authorization header";
            let challenge =
                open.bearer_challenge(&format!(", error=\"invalid_request\", error_description=\"{why}\""));
            let twice = open.pets.bearer("no.such.token").get(path).send().await;
            is_refused(&twice, 400, &format!("The credentials cannot be read: {why}."), &[&challenge]);
        }
        // A token in the query is rejected, since addresses are logged.
        let token = open.token_of("ada", None).await;
        let why = "an access token must be in the Authorization header, not in the address";
        let challenge =
            open.bearer_challenge(&format!(", error=\"invalid_request\", error_description=\"{why}\""));
        let inside = open.anyone.get(&format!("/v3/pet/findByStatus?access_token={token}")).send().await;
        is_refused(&inside, 400, &format!("The credentials cannot be read: {why}."), &[&challenge]);
        for path in ["/v3/pet/1", "/v3/store/inventory"] {
            let inside = open.key.get(&format!("{path}?access_token={token}")).send().await;
            let said = inside.is_problem(400, "invalid-request");
            assert!(said.contains("in the Authorization header"), "{path}: {said}");
        }
        for path in ["/v3/user/ada", "/v3/user/logout", "/v3/store/order/1"] {
            let inside = open.anyone.get(&format!("{path}?access_token={token}")).send().await;
            let said = "is not a parameter of this operation: an access token belongs in the Authorization header";
            inside.is_invalid(&[("?access_token", said)]);
        }
        // Another scheme is none of ours.
        let basic =
            open.anyone.with("authorization", "Basic ZGVtbzpkZW1v").get("/v3/pet/findByStatus").send().await;
        is_refused(&basic, 401, NEEDS_TOKEN, &[&open.bearer_challenge("")]);
    }

    async fn pet_is_deleted_with_a_valid_key_or_token(open: Open) {
        let key = open.key.headers[0].1.clone();
        let weak = open.token_of("ada", Some("read:pets")).await;
        for (id, caller) in (1..).zip([
            open.key.clone(),
            open.anyone.with("x-api-key", key.clone()),
            open.pets.clone(),
            // The other, invalid credential is ignored.
            open.pets.with("api_key", key),
            open.pets.with("api_key", "wrong"),
            open.pets.with("api_key", ""),
            open.key.bearer("no.such.token"),
            open.key.bearer(&weak),
        ]) {
            open.add(&pet_with("Rex", "id", id)).await;
            caller.delete(&format!("/v3/pet/{id}")).send().await.has_status(200);
            open.pet(id).await.is_problem(404, "not-found");
        }
        open.add(&pet_with("Rex", "id", 1)).await;
        let unknown = open.anyone.with("api_key", "wrong");
        let all = [open.bearer_challenge(""), KEY.into()];
        let answer = unknown.delete("/v3/pet/1").send().await;
        is_refused(&answer, 401, "The API key is not valid.", &[&all[0], &all[1]]);
        let malformed = open.bearer_challenge(
            ", error=\"invalid_token\", error_description=\"the access token is malformed\"",
        );
        let answer = unknown.bearer("no.such.token").delete("/v3/pet/1").send().await;
        is_refused(&answer, 401, "The access token is malformed.", &[&malformed, KEY]);
        open.pet(1).await.has_status(200);
    }

    async fn removed_key_and_expired_token_get_401(open: Open) {
        open.key.get("/v3/store/inventory").send().await.has_status(200);
        let keys = identity::ApiKeys::new(false, open.db.clone(), open.clock.clone(), web::Random::system());
        assert!(keys.remove("test").await.unwrap());
        let answer = open.key.get("/v3/store/inventory").send().await;
        is_refused(&answer, 401, "The API key is not valid.", &[KEY]);
        open.pets.get("/v3/pet/findByStatus").send().await.has_status(200);
        open.advance(599);
        open.pets.get("/v3/pet/findByStatus").send().await.has_status(200);
        open.advance(1);
        let ended = open.bearer_challenge(
            ", error=\"invalid_token\", error_description=\"the access token has expired\"",
        );
        let answer = open.pets.get("/v3/pet/findByStatus").send().await;
        is_refused(&answer, 401, "The access token has expired.", &[&ended]);
    }
}
