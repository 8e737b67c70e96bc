//! Limits on the size and number of images, and rejected uploads.

use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    answers::{parse, pet_with},
    fixture::{Open, Setup},
};

const LARGEST: usize = 10 * 1024 * 1024;
const FULL: &str = "The pet has as many images as it may have. Replace the pet with fewer photoUrls first.";

/// Bytes whose pieces all differ, and which do not compress.
fn bytes(length: usize) -> Vec<u8> {
    let mut number = 1_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend(number.to_be_bytes());
    }
    bytes.truncate(length);
    bytes
}

testkit::on_both_engines! {
    async fn image_of_ten_mebibytes_is_stored_and_one_byte_more_gets_413(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let mut image = bytes(LARGEST + 1);
        let call = open.pets.post("/v3/pet/5/uploadImage").body("application/octet-stream", image.clone());
        let said = "The body must be at most 10485760 bytes long.";
        assert_eq!(call.send().await.is_problem(413, "too-large"), said);
        open.pet(5).await.is(200, &pet_with("Rex", "id", 5));
        image.truncate(LARGEST);
        let path = open.upload(image.clone()).await;
        assert!(open.image(&path).await.body == image, "the bytes are others");
        // Around the size of the pieces in which it is kept.
        for length in [1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1] {
            let path = open.upload(&image[..length]).await;
            let answer = open.image(&path).await;
            assert!(answer.body == image[..length], "{length}: the bytes are others");
        }
    }

    async fn large_image_can_be_chunked(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let (_, token) = &open.pets.headers[0];
        let head = format!(
            "POST /v3/pet/5/uploadImage HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\nConnection: close\r\n\
             Content-Type: image/png\r\n"
        );
        let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        let request = format!("{head}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", piece.repeat(40));
        let answer = parse(&open.anyone.client.raw(request.as_bytes()).await);
        assert_eq!(answer.has_status(200).json()["message"], format!("{} bytes kept", 40 * 0x10000));
        // Without a media type.
        let request =
            format!("{}Content-Length: 3\r\n\r\nabc", head.replace("Content-Type: image/png\r\n", ""));
        parse(&open.anyone.client.raw(request.as_bytes()).await).has_status(200);
        // A truncated upload is not stored.
        let request = format!("{head}Transfer-Encoding: chunked\r\n\r\n{piece}zz\r\n");
        let answer = parse(&open.anyone.client.raw(request.as_bytes()).await);
        answer.is_invalid(&[("#", "broke off before its end")]);
        // With Expect: 100-continue the answer comes before the body.
        let request = format!("{head}Content-Length: {}\r\nExpect: 100-continue\r\n\r\n", LARGEST + 1);
        parse(&open.anyone.client.raw(request.as_bytes()).await).is_problem(413, "too-large");
        assert_eq!(open.pet(5).await.json()["photoUrls"].as_array().unwrap().len(), 2);
    }

    async fn invalid_upload_is_rejected_and_changes_nothing(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let before = open.dump().await;
        let upload = |path: &str| open.pets.post(&format!("/v3/pet/{path}"));
        let empty = upload("5/uploadImage").body("application/octet-stream", "");
        empty.send().await.is_invalid(&[("#", "is empty; send the bytes of an image")]);
        upload("5/uploadImage").send().await.is_invalid(&[("#", "is empty; send the bytes of an image")]);
        let unknown = upload("6/uploadImage").body("image/png", "x").send().await;
        assert_eq!(unknown.is_problem(404, "not-found"), "There is no pet with this id.");
        for (sent, named) in [
            ("text/plain", "text/plain"),
            ("application/json", "application/json"),
            ("multipart/form-data; boundary=x", "multipart/form-data"),
            ("application/octet-streams", "application/octet-streams"),
            ("image", "image"),
            ("image/", "image/"),
            ("", ""),
        ] {
            let answer = upload("5/uploadImage").body(sent, "x").send().await;
            let said =
                format!("The body must be sent as application/octet-stream or image/*, not as {named}.");
            assert_eq!(answer.is_problem(415, "unsupported-media-type"), said);
        }
        let id = "must be a whole number from -9223372036854775808 to 9223372036854775807";
        upload("abc/uploadImage").body("image/png", "x").send().await.is_invalid(&[("{petId}", id)]);
        let long = format!("5/uploadImage?additionalMetadata={}", "x".repeat(1001));
        for (path, pointer, said) in [
            (long.as_str(), "?additionalMetadata", "must be at most 1000 characters long, not 1001"),
            (
                "5/uploadImage?additionalMetadata=%07",
                "?additionalMetadata",
                "must not contain the control character U+0007",
            ),
            (
                "5/uploadImage?additionalMetadata=a&additionalMetadata=b",
                "?additionalMetadata",
                "is given more than once",
            ),
            ("5/uploadImage?additionalMetadata=%ff", "?", "has percent codes that are not UTF-8"),
        ] {
            upload(path).body("image/png", "x").send().await.is_invalid(&[(pointer, said)]);
        }
        let only_xml =
            upload("5/uploadImage").body("image/png", "x").header("accept", "application/xml").send().await;
        assert_eq!((only_xml.status, only_xml.header("content-type")), (406, "application/problem+xml"));
        assert_eq!(open.dump().await, before);
    }

    async fn pet_has_at_most_twenty_images(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let another = open.another(&Setup::default()).await;
        // At once, from two processes: none overlooks another's.
        let calls = (0..30).map(async |at| {
            let caller = if at % 2 == 0 { &open.pets } else { &another.pets };
            caller.post("/v3/pet/5/uploadImage").body("image/png", format!("image {at}")).send().await
        });
        let answers = join_all(calls).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 20);
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!(answer.is_problem(409, "conflict"), FULL);
        }
        let pet = open.pet(5).await.json();
        let photos = pet["photoUrls"].as_array().unwrap();
        assert_eq!(photos.len(), 20, "no address was lost");
        for photo in photos {
            let path = photo.as_str().unwrap().strip_prefix(&open.address).unwrap();
            assert!(open.image(path).await.has_status(200).text().starts_with("image "));
        }
        // With fewer addresses there is room again.
        let mut fewer = pet.clone();
        fewer["photoUrls"] = json!(photos[1..]);
        open.pets.put("/v3/pet").json(&fewer).send().await.has_status(200);
        open.upload("one more").await;
        let full = open.pets.post("/v3/pet/5/uploadImage").body("image/png", "x").send().await;
        assert_eq!(full.is_problem(409, "conflict"), FULL);
        // The limit is separate for each pet.
        open.add(&pet_with("Mia", "id", 6)).await;
        open.pets.post("/v3/pet/6/uploadImage").body("image/png", "x").send().await.has_status(200);
    }

    async fn images_of_a_pet_have_at_most_fifty_mebibytes(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        // As if these had been sent; only their sizes matter here.
        let write = open.db.write(|tx| {
            for (number, size) in [(1, 30 * 1024 * 1024_i64), (2, 20 * 1024 * 1024 - 1000)] {
                tx.execute(
                    "INSERT INTO pet_image (id, pet_id, media_type, size) VALUES ($1, 5, 'image/png', $2)",
                    &[Uuid::from_u128(number).into(), size.into()],
                )?;
            }
            Ok::<_, db::Error>(())
        });
        write.await.unwrap();
        let upload = async |length: usize| {
            let call = open.pets.post("/v3/pet/5/uploadImage").body("image/png", vec![b'x'; length]);
            call.send().await
        };
        assert_eq!(upload(1001).await.is_problem(409, "conflict"), FULL);
        upload(600).await.has_status(200);
        assert_eq!(upload(401).await.is_problem(409, "conflict"), FULL);
        upload(400).await.has_status(200);
        assert_eq!(upload(1).await.is_problem(409, "conflict"), FULL);
    }

    async fn pet_with_a_hundred_photo_urls_rejects_an_upload(open: Open) {
        let mut rex = pet_with("Rex", "id", 5);
        rex["photoUrls"] =
            (0..100).map(|number| json!(format!("https://example.com/{number}"))).collect::<Value>();
        open.add(&rex).await;
        let answer = open.pets.post("/v3/pet/5/uploadImage").body("image/png", "x").send().await;
        assert_eq!(answer.is_problem(409, "conflict"), FULL);
        open.pet(5).await.is(200, &rex);
    }
}
