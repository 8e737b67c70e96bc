//! `GET /pet/findByStatus` and `GET /pet/findByTags`: which pets, in which order.

use serde_json::{Value, json};
use testkit::Answer;

use crate::{
    answers::{ids, is_xml},
    fixture::Open,
};

const XML: &str = "application/xml";

impl Open {
    async fn by_status(&self, query: &str) -> Answer {
        self.pets.get(&format!("/v3/pet/findByStatus{query}")).send().await
    }

    async fn by_tags(&self, query: &str) -> Answer {
        self.pets.get(&format!("/v3/pet/findByTags{query}")).send().await
    }

    /// Adds a pet of this id, status and tags.
    async fn put_in(&self, id: i64, status: Option<&str>, tags: &[&str]) -> Value {
        let tags: Vec<_> = tags.iter().map(|tag| json!({"name": tag})).collect();
        let mut pet = json!({"id": id, "name": format!("pet {id}"), "photoUrls": [], "tags": tags});
        if let Some(status) = status {
            pet["status"] = status.into();
        }
        self.add(&pet).await
    }
}

testkit::on_both_engines! {
    async fn pets_are_found_by_any_of_several_statuses_in_id_order(open: Open) {
        for (id, status) in [
            (30, Some("sold")),
            (-7, Some("available")),
            (10, Some("available")),
            (20, Some("pending")),
            (i64::MAX, Some("available")),
            (i64::MIN, Some("sold")),
            (0, None),
            (9, Some("available")),
        ] {
            open.put_in(id, status, &[]).await;
        }
        let available = vec![-7, 9, 10, i64::MAX];
        let all = vec![i64::MIN, -7, 9, 10, 20, 30, i64::MAX];
        for (query, expected) in [
            ("", &available),
            ("?", &available),
            ("?status=", &available),
            ("?status=available", &available),
            ("?status=available,available", &available),
            ("?status=pending", &vec![20]),
            ("?status=sold", &vec![i64::MIN, 30]),
            ("?status=sold,pending", &vec![i64::MIN, 20, 30]),
            ("?status=sold&status=pending", &vec![i64::MIN, 20, 30]),
            ("?status=sold%2Cpending", &vec![i64::MIN, 20, 30]),
            ("?status=available,pending&status=sold", &all),
            ("?status=sold,pending,available,sold", &all),
        ] {
            assert_eq!(ids(&open.by_status(query).await), *expected, "{query}");
        }
        let unknown = "is not a parameter of this operation, which takes status";
        open.by_status("?other=sold").await.is_invalid(&[("?other", unknown)]);
        let pet = open.pet(20).await.json();
        open.by_status("?status=pending").await.is(200, &json!([pet]));
        let xml = open.pets.get("/v3/pet/findByStatus?status=sold").header("accept", XML).send().await;
        is_xml(
            &xml,
            &format!(
                "<pets><pet><id>{}</id><name>pet {0}</name><photoUrls></photoUrls><tags></tags><status>sold</status>\
                 </pet><pet><id>30</id><name>pet 30</name><photoUrls></photoUrls><tags></tags><status>sold</status>\
                 </pet></pets>",
                i64::MIN
            ),
        );
    }

    async fn no_matching_pet_gives_an_empty_list(open: Open) {
        for path in ["/v3/pet/findByStatus?status=available,pending,sold", "/v3/pet/findByTags?tags=none"] {
            open.pets.get(path).send().await.is(200, &json!([]));
            is_xml(&open.pets.get(path).header("accept", XML).send().await, "<pets></pets>");
        }
    }

    async fn unknown_status_gets_400(open: Open) {
        let said = "must be one of: available, pending, sold";
        for query in [
            "?status=lost",
            "?status=Available",
            "?status=available,lost",
            "?status=lost,unknown",
            "?status=available&status=lost",
            "?status=available,",
            "?status=,",
            "?status=%20available",
            "?status=available%00",
        ] {
            open.by_status(query).await.is_invalid(&[("?status", said)]);
        }
        let many = format!("?status={}", "sold,".repeat(2000));
        open.by_status(&many).await.is_invalid(&[("?status", "must have at most 1000 values")]);
        open.by_status("?status=%")
            .await
            .is_invalid(&[("?", "has a % that is not followed by two hexadecimal digits")]);
    }

    async fn pets_are_found_once_by_any_of_several_tags(open: Open) {
        open.put_in(3, Some("sold"), &["tag1", "tag2"]).await;
        open.put_in(-1, None, &["tag2", "tag2", "tag2"]).await;
        open.put_in(2, Some("available"), &["tag3", "Tag1", "tag 1", "é", "a&b"]).await;
        open.put_in(1, Some("available"), &[]).await;
        open.add(&json!({"id": 4, "name": "nameless", "photoUrls": [], "tags": [{"id": 1}, {"name": ""}]}))
            .await;
        for (query, expected) in [
            ("?tags=tag1", &[3][..]),
            ("?tags=tag2", &[-1, 3]),
            ("?tags=tag1,tag2", &[-1, 3]),
            ("?tags=tag1&tags=tag2", &[-1, 3]),
            ("?tags=tag2,tag1,tag3,tag2", &[-1, 2, 3]),
            ("?tags=tag1&tags=&tags=tag3", &[2, 3]),
            ("?tags=Tag1", &[2]),
            ("?tags=tag+1", &[2]),
            ("?tags=tag%201", &[2]),
            ("?tags=%C3%A9", &[2]),
            ("?tags=a%26b", &[2]),
            ("?tags=TAG1", &[]),
            ("?tags=tag", &[]),
            ("?tags=%25", &[]),
            ("?tags=_ag1", &[]),
        ] {
            assert_eq!(ids(&open.by_tags(query).await), expected, "{query}");
        }
        // A tag that a pet lost is no longer found.
        open.put_in(3, Some("sold"), &["tag2"]).await;
        assert_eq!(ids(&open.by_tags("?tags=tag1").await), [0_i64; 0]);
    }

    async fn search_without_tags_gets_400(open: Open) {
        let none = "must name at least one tag";
        let long = format!("?tags={}", "x".repeat(201));
        let many: Vec<_> = (0..101).map(|number| format!("t{number}")).collect();
        for (query, said) in [
            ("", none),
            ("?tags=", none),
            ("?tags=&tags=", none),
            ("?tags=,", "must not be empty"),
            ("?tags=tag1,", "must not be empty"),
            ("?tags=%20", "must not be empty"),
            ("?tags=%07", "must not contain the control character U+0007"),
            ("?tags=%EF%BF%BF", "must not contain the character U+FFFF"),
            (&long, "must be at most 200 characters long, not 201"),
            (&format!("?tags={}", many.join(",")), "must name at most 100 tags, not 101"),
        ] {
            open.by_tags(query).await.is_invalid(&[("?tags", said)]);
        }
        let near = "is not a parameter of this operation; did you mean `tags`?";
        open.by_tags("?tag=tag1").await.is_invalid(&[("?tags", none), ("?tag", near)]);
        // A hundred, each ten times, are a hundred.
        let hundred = format!("?tags={}", [&many[..100]; 9].concat().join(","));
        open.by_tags(&hundred).await.is(200, &json!([]));
    }
}
