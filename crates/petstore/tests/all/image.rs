//! Images: kept byte for byte, and served so that no browser runs them.

use http::Method;
use serde_json::json;
use testkit::Answer;

use crate::{
    answers::{pet_with, text},
    fixture::Open,
};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and what follows";

impl Open {
    /// Sends an image of pet 5; gives its path on the store.
    pub(crate) async fn upload(&self, bytes: impl Into<Vec<u8>>) -> String {
        let call = self.pets.post("/v3/pet/5/uploadImage").body("application/octet-stream", bytes.into());
        call.send().await.has_status(200);
        let pet = self.pet(5).await.json();
        let address = pet["photoUrls"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
        address.strip_prefix(&self.address).unwrap().to_owned()
    }

    pub(crate) async fn image(&self, path: &str) -> Answer {
        self.anyone.get(path).send().await
    }
}

#[track_caller]
pub(crate) fn is_gone(answer: &Answer) {
    assert_eq!(answer.is_problem(404, "not-found"), "There is no image with this id.");
}

testkit::on_both_engines! {
    async fn uploaded_image_is_added_to_the_photos_and_public(open: Open) {
        let mut rex = pet_with("Rex", "id", 5);
        rex["photoUrls"] = json!(["https://example.com/1.jpg"]);
        open.add(&rex).await;
        let call = open.pets.post("/v3/pet/5/uploadImage?additionalMetadata=Front%20view%20%26%20more");
        let answer = call.body("application/octet-stream", PNG).send().await;
        answer.is(
            200,
            &json!({
                "code": 200,
                "type": "image/png",
                "message": format!("{} bytes kept; additionalMetadata: Front view & more", PNG.len()),
            }),
        );
        let pet = open.pet(5).await.json();
        let photos = pet["photoUrls"].as_array().unwrap();
        assert_eq!((photos.len(), &photos[0]), (2, &json!("https://example.com/1.jpg")));
        let path = photos[1].as_str().unwrap().strip_prefix(&open.address).unwrap().to_owned();
        let id = path.strip_prefix("/v3/images/").unwrap();
        assert_eq!(id.parse::<uuid::Uuid>().unwrap().get_version_num(), 7, "it cannot be guessed");
        for caller in [&open.anyone, &open.ben, &open.anyone.bearer("no.such.token")] {
            let image = caller.get(&path).send().await;
            assert_eq!((image.status, image.body.as_slice()), (200, PNG));
        }
        let message =
            open.pets.post("/v3/pet/5/uploadImage").body("application/octet-stream", PNG).send().await;
        assert_eq!(text(&message.json(), "message"), format!("{} bytes kept", PNG.len()));
        assert_eq!(open.pet(5).await.json()["photoUrls"].as_array().unwrap().len(), 3);
        // The same in XML.
        let xml = open.pets.get("/v3/pet/5").header("accept", "application/xml").send().await.text();
        assert!(xml.contains(&format!("<photoUrl>{}{path}</photoUrl>", open.address)), "{xml}");
    }

    async fn image_is_deleted_with_its_url_or_its_pet(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let (first, second) = (open.upload(PNG).await, open.upload(PNG).await);
        let third = open.upload(PNG).await;
        assert_ne!(first, second);
        let put = async |method, photos: serde_json::Value| {
            let mut pet = pet_with("Rex", "id", 5);
            pet["photoUrls"] = photos;
            open.pets.call(method, "/v3/pet").json(&pet).send().await.is(200, &pet);
        };
        let address = |path: &String| format!("{}{path}", open.address);
        put(
            Method::PUT,
            json!([address(&second), "https://example.com/x.jpg", address(&third), address(&third)]),
        )
        .await;
        is_gone(&open.image(&first).await);
        for kept in [&second, &third] {
            assert_eq!(open.image(kept).await.body, PNG);
        }
        // With any host in the sent address.
        put(Method::PUT, json!([format!("https://elsewhere.example{second}"), address(&third)])).await;
        assert_eq!(open.image(&second).await.body, PNG);
        put(Method::POST, json!([address(&third)])).await;
        is_gone(&open.image(&second).await);
        // A change of name or status leaves them alone.
        open.pets.post("/v3/pet/5?name=Max&status=sold").send().await.has_status(200);
        assert_eq!(open.image(&third).await.body, PNG);
        // The address of another pet's image does not keep that image.
        let mut other = pet_with("Mia", "id", 6);
        other["photoUrls"] = json!([address(&third)]);
        open.add(&other).await;
        open.pets.delete("/v3/pet/5").send().await.has_status(200);
        is_gone(&open.image(&third).await);
        open.pet(6).await.is(200, &other);
        assert!(open.dump().await.contains("sold|0\n----\n----\n----\n"), "no piece of any image is left");
    }

    async fn unknown_image_gets_404_and_invalid_id_400(open: Open) {
        is_gone(&open.image("/v3/images/dad4bce8-f5cb-4078-a211-995864315e39").await);
        for id in ["1", "abc", "dad4bce8f5cb4078a211995864315e39", "dad4bce8-f5cb-4078-a211-995864315e3g"] {
            let said = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";
            open.image(&format!("/v3/images/{id}")).await.is_invalid(&[("{imageId}", said)]);
        }
    }
}

testkit::on_one_engine! {
    async fn client_that_accepts_only_images_gets_the_image(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let path = open.upload(PNG).await;
        for accept in ["image/png", "image/*", "image/avif,image/webp,*/*;q=0.8"] {
            let image = open.anyone.get(&path).header("accept", accept).send().await;
            assert_eq!((image.status, image.body.as_slice()), (200, PNG), "{accept}");
        }
    }

    async fn media_type_of_an_image_comes_from_its_bytes(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        for (content_type, bytes, media_type, disposition) in [
            ("application/octet-stream", PNG, "image/png", "inline"),
            ("image/gif", PNG, "image/png", "inline"),
            ("image/jpeg", &b"\xff\xd8\xff\xe0\0\x10JFIF"[..], "image/jpeg", "inline"),
            ("image/gif", b"GIF89a\x01\0\x01\0", "image/gif", "inline"),
            ("image/gif", b"GIF87a", "image/gif", "inline"),
            ("image/webp", b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp", "inline"),
            ("image/png", b"not an image", "application/octet-stream", "attachment"),
            (
                "image/svg+xml",
                b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>",
                "application/octet-stream",
                "attachment",
            ),
            (
                "application/octet-stream",
                b"<!DOCTYPE html><script>alert(1)</script>",
                "application/octet-stream",
                "attachment",
            ),
            ("image/png", b"\0", "application/octet-stream", "attachment"),
            ("image/png", b"<?xml version='1.0'?><html/>", "application/octet-stream", "attachment"),
        ] {
            let call = open.pets.post("/v3/pet/5/uploadImage").body(content_type, bytes);
            let answer = call.send().await;
            assert_eq!(answer.has_status(200).json()["type"], media_type, "{content_type}");
            let pet = open.pet(5).await.json();
            let address = pet["photoUrls"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
            let image = open.image(address.strip_prefix(&open.address).unwrap()).await;
            assert_eq!((image.status, image.body.as_slice()), (200, bytes), "{content_type}");
            assert_eq!(image.header("content-type"), media_type, "{content_type}");
            assert_eq!(image.header("content-disposition"), disposition, "{content_type}");
            assert_eq!(image.header("content-security-policy"), "default-src 'none'; sandbox");
            assert_eq!(image.header("x-content-type-options"), "nosniff");
            assert_eq!(image.header("cache-control"), "public, max-age=31536000, immutable");
            assert_eq!(image.header("content-length"), bytes.len().to_string());
        }
        // Without a content type, the type is detected as well.
        let call = open.pets.post("/v3/pet/5/uploadImage?additionalMetadata=").body("image/png", PNG);
        assert_eq!(
            call.send().await.json()["message"],
            format!("{} bytes kept; additionalMetadata: ", PNG.len())
        );
    }

    async fn head_answers_as_get_without_the_body(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let path = open.upload(PNG).await;
        let (get, head) = (open.image(&path).await, open.anyone.call(Method::HEAD, &path).send().await);
        assert_eq!((head.status, head.body.len()), (200, 0));
        for name in [
            "content-type",
            "content-length",
            "content-disposition",
            "content-security-policy",
            "cache-control",
        ] {
            assert_eq!(head.header(name), get.header(name), "{name}");
            assert_ne!(head.header(name), "", "{name}");
        }
    }

    /// An image is compressed already; to compress it again takes time and removes its `Content-Length`.
    async fn image_is_not_compressed(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let path = open.upload([PNG, &[b'x'; 100_000]].concat()).await;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
        );
        let answer = open.anyone.client.raw(request.as_bytes()).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && !answer.contains("content-encoding"),
            "{answer:.400}"
        );
        let length = PNG.len() + 100_000;
        assert!(answer.contains(&format!("\r\ncontent-length: {length}\r\n")), "{answer:.400}");
    }
}
