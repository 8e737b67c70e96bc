//! Lists of several pages of 64 pets.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{answers::ids, fixture::Open};

/// How many pets there are.
const MANY: i64 = 400;

fn status_of(id: i64) -> Option<&'static str> {
    match id.rem_euclid(8) {
        0..=3 => Some("available"),
        4 => Some("pending"),
        5 | 6 => Some("sold"),
        _ => None,
    }
}

fn tags_of(id: i64) -> Vec<&'static str> {
    let mut tags = Vec::new();
    for (tag, every) in [("all", 1), ("second", 2), ("third", 3), ("hundredth", 100)] {
        if id.rem_euclid(every) == 0 {
            tags.push(tag);
        }
    }
    tags
}

fn pet(id: i64) -> Value {
    let tags: Vec<_> = tags_of(id).iter().map(|tag| json!({"id": 1, "name": tag})).collect();
    let mut pet = json!({"id": id, "name": format!("pet <{id}>"), "photoUrls": ["x"], "tags": tags});
    if let Some(status) = status_of(id) {
        pet["status"] = status.into();
    }
    pet
}

impl Open {
    /// Puts in the pets from -200 to 199, straight into the tables.
    async fn put_in_many(&self) {
        let write = self.db.write(|tx| {
            for id in -MANY / 2..MANY / 2 {
                let pet = pet(id);
                let (urls, tags) = (pet["photoUrls"].to_string(), pet["tags"].to_string());
                tx.execute(
                    "INSERT INTO pet (id, name, photo_urls, tags, status) VALUES ($1, $2, $3, $4, $5)",
                    &[
                        id.into(),
                        pet["name"].as_str().into(),
                        db::Value::json(urls.as_str()),
                        db::Value::json(tags.as_str()),
                        status_of(id).into(),
                    ],
                )?;
                for tag in tags_of(id) {
                    tx.execute(
                        "INSERT INTO pet_tag (name, pet_id) VALUES ($1, $2)",
                        &[tag.into(), id.into()],
                    )?;
                }
            }
            Ok::<_, db::Error>(())
        });
        write.await.unwrap();
    }
}

/// The ids of all pets for which this holds.
fn expected(wanted: impl Fn(i64) -> bool) -> Vec<i64> {
    (-MANY / 2..MANY / 2).filter(|id| wanted(*id)).collect()
}

testkit::on_both_engines! {
    async fn long_list_is_complete_and_in_order(open: Open) {
        open.put_in_many().await;
        let has_status = |words: &'static [&'static str]| {
            expected(|id| status_of(id).is_some_and(|status| words.contains(&status)))
        };
        let has_tag =
            |words: &'static [&'static str]| expected(|id| tags_of(id).iter().any(|tag| words.contains(tag)));
        for (path, expected) in [
            ("findByStatus", has_status(&["available"])),
            ("findByStatus?status=available,sold", has_status(&["available", "sold"])),
            ("findByStatus?status=sold,pending,available", has_status(&["available", "pending", "sold"])),
            ("findByTags?tags=all", has_tag(&["all"])),
            ("findByTags?tags=second,third", has_tag(&["second", "third"])),
            ("findByTags?tags=hundredth,third,none", has_tag(&["hundredth", "third"])),
        ] {
            let path = format!("/v3/pet/{path}");
            let answer = open.pets.get(&path).send().await;
            assert_eq!(ids(&answer), expected, "{path}");
            assert_eq!(answer.header("content-type"), "application/json");
            let list = answer.json();
            assert_eq!(list, json!(expected.iter().map(|id| pet(*id)).collect::<Vec<_>>()), "{path}");
            // The same in XML.
            let answer = open.pets.get(&path).header("accept", "application/xml").send().await;
            let xml = answer.has_status(200).text();
            let start = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><pets><pet><id>";
            assert!(xml.starts_with(start) && xml.ends_with("</pet></pets>"), "{xml:.200}");
            let found: Vec<i64> = xml
                .split("<pet><id>")
                .skip(1)
                .map(|rest| rest.split('<').next().unwrap().parse().unwrap())
                .collect();
            assert_eq!(found, expected, "{path}");
            assert_eq!(xml.matches("<name>pet &lt;").count(), expected.len());
        }
    }

    async fn list_of_exactly_full_pages_is_complete(open: Open) {
        let mut next = 0_i64;
        for count in [63, 64, 65, 128, 129] {
            let tag = format!("of {count}");
            let (name, first) = (tag.clone(), next);
            let write = open.db.write(move |tx| {
                for id in first..first + count {
                    tx.execute(
                        "INSERT INTO pet (id, name, photo_urls) VALUES ($1, 'x', $2)",
                        &[id.into(), db::Value::json("[]")],
                    )?;
                    tx.execute(
                        "INSERT INTO pet_tag (name, pet_id) VALUES ($1, $2)",
                        &[(&name).into(), id.into()],
                    )?;
                }
                Ok::<_, db::Error>(())
            });
            write.await.unwrap();
            next += count;
            let answer = open.pets.get(&format!("/v3/pet/findByTags?tags={tag}")).send().await;
            assert_eq!(ids(&answer), (first..next).collect::<Vec<_>>(), "{tag}");
        }
    }

    async fn disconnected_client_does_not_affect_others(open: Open) {
        open.put_in_many().await;
        let (_, token) = &open.pets.headers[0];
        for _ in 0..20 {
            let mut stream = TcpStream::connect(open.anyone.client.address()).await.unwrap();
            let request = format!(
                "GET /v3/pet/findByTags?tags=all HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut some = [0; 600];
            stream.read_exact(&mut some).await.unwrap();
            assert!(some.starts_with(b"HTTP/1.1 200 OK"));
        }
        let answer = open.pets.get("/v3/pet/findByTags?tags=all").send().await;
        assert_eq!(ids(&answer).len(), 400);
    }

    async fn concurrent_changes_do_not_affect_other_listed_pets(open: Open) {
        open.put_in_many().await;
        let busy = {
            let pets = open.pets.clone();
            tokio::spawn(async move {
                for id in (1000..1040).chain(1000..1040) {
                    let sent = json!({"id": id, "name": "x", "photoUrls": [], "tags": [{"name": "all"}]});
                    pets.post("/v3/pet").json(&sent).send().await.has_status(200);
                    pets.delete(&format!("/v3/pet/{id}")).send().await.has_status(200);
                }
            })
        };
        let always: Vec<_> = expected(|_| true);
        while !busy.is_finished() {
            let found = ids(&open.pets.get("/v3/pet/findByTags?tags=all").send().await);
            assert!(found.is_sorted_by(|one, next| one < next), "{found:?}");
            let found: BTreeSet<_> = found.into_iter().collect();
            assert!(always.iter().all(|id| found.contains(id)));
        }
        busy.await.unwrap();
    }
}
