//! `/app/picture.svg`: the drawn pictures of pets.

use std::collections::HashSet;

use http::header;
use testkit::{Engine, Fixture};

use crate::fixture::{Open, with_demo};

/// The address of a pet's picture, as the pages build it.
fn address(pet: &serde_json::Value) -> String {
    format!(
        "/app/picture.svg?id={}&name={}&category={}",
        pet["id"],
        pet["name"].as_str().unwrap(),
        pet["category"]["name"].as_str().unwrap()
    )
}

#[tokio::test]
async fn each_pet_of_the_demo_has_its_own_picture() {
    let open = Open::on(testkit::Store::new(Engine::Sqlite), with_demo()).await;
    let list = open.pets.get("/v3/pet/findByStatus?status=available,pending,sold").send().await.json();
    let pets = list.as_array().unwrap();
    let mut different = HashSet::new();
    for pet in pets {
        let picture = open.anyone.get(&address(pet)).send().await;
        picture.has_status(200);
        assert_eq!(picture.header(header::CONTENT_TYPE.as_str()), "image/svg+xml");
        assert_eq!(picture.header(header::CACHE_CONTROL.as_str()), "public, max-age=86400");
        assert_eq!(picture.header(header::CONTENT_SECURITY_POLICY.as_str()), "default-src 'none'");
        let text = picture.text();
        testkit::xml::is_well_formed(&text);
        assert!(text.len() < 4096, "{pet}: {} bytes", text.len());
        assert_eq!(open.anyone.get(&address(pet)).send().await.text(), text, "{pet}");
        assert!(different.insert(text), "{pet} looks like another pet");
    }
    assert_eq!(different.len(), 11);
}

#[tokio::test]
async fn every_drawing_is_well_formed_and_small() {
    let open = Open::start(Engine::Sqlite).await;
    for category in ["Cats", "puppies", "Bunnies", "Big cats", "Parrots", "Dragons", ""] {
        for id in 0..60 {
            let path = format!("/app/picture.svg?id={id}&name=n{id}&category={category}");
            let text = open.anyone.get(&path).send().await.has_status(200).text();
            testkit::xml::is_well_formed(&text);
            assert!(text.len() < 4096, "{path}: {} bytes", text.len());
        }
    }
}

#[tokio::test]
async fn picture_has_no_text_of_its_address() {
    let open = Open::start(Engine::Sqlite).await;
    let path = "/app/picture.svg?id=-9223372036854775808&name=%3Cscript%3Eplanted&category=%22%27%26planted";
    let text = open.anyone.get(path).send().await.has_status(200).text();
    testkit::xml::is_well_formed(&text);
    assert!(!text.contains("planted") && !text.contains("script"), "{text}");
    let nothing = open.anyone.get("/app/picture.svg").send().await;
    nothing.has_status(200);
}

#[tokio::test]
async fn invalid_address_of_a_picture_is_rejected() {
    let open = Open::start(Engine::Sqlite).await;
    let long = "x".repeat(201);
    for query in [
        "id=seven",
        "id=9223372036854775808",
        "id=1&id=2",
        &format!("name={long}"),
        &format!("category={long}"),
    ] {
        open.anyone.get(&format!("/app/picture.svg?{query}")).send().await.is_problem(400, "invalid-request");
    }
}
