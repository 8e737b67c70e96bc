//! Ids that the store gives out: each once, and never one that a client has taken.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    answers::{ids, number, pet, pet_with},
    fixture::{As, Open, Setup},
};

/// Adds `count` pets concurrently, through each of these callers in turn, and returns their ids.
async fn add_at_once(callers: &[As], count: usize) -> Vec<i64> {
    let calls = (0..count).map(async |at| {
        let answer =
            callers[at % callers.len()].post("/v3/pet").json(&pet(&format!("pet {at}"))).send().await;
        let added = answer.has_status(200).json();
        assert_eq!(added["name"], format!("pet {at}"));
        number(&added, "id")
    });
    join_all(calls).await
}

#[track_caller]
fn all_differ(ids: &[i64]) -> BTreeSet<i64> {
    let distinct: BTreeSet<_> = ids.iter().copied().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    distinct
}

impl Open {
    /// Puts pets of these ids straight into the table.
    async fn take(&self, ids: impl Iterator<Item = i64>) {
        let ids: Vec<_> = ids.collect();
        let write = self.db.write(move |tx| {
            for id in &ids {
                tx.execute(
                    "INSERT INTO pet (id, name, photo_urls) VALUES ($1, 'taken', $2)",
                    &[(*id).into(), db::Value::json("[]")],
                )?;
            }
            Ok::<_, db::Error>(())
        });
        write.await.unwrap();
    }

    async fn next_id(&self, kind: &'static str) -> i64 {
        let read = self.db.read(move |tx| {
            tx.row("SELECT id FROM next_id WHERE kind = $1", &[kind.into()], |row| row.get(0))
        });
        read.await.unwrap_or_else(|error: db::Error| panic!("{error}")).unwrap()
    }

    async fn set_next_id(&self, next: i64) {
        let write = self.db.write(move |tx| tx.execute("UPDATE next_id SET id = $1", &[next.into()]));
        write.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
    }
}

testkit::on_both_engines! {
    async fn ids_are_assigned_from_1_upwards(open: Open) {
        let mut given = Vec::new();
        for _ in 0..5 {
            given.push(number(&open.add(&pet("Rex")).await, "id"));
        }
        assert_eq!(given, [1, 2, 3, 4, 5]);
    }

    async fn concurrent_creations_in_a_new_store_get_ids_without_gaps(open: Open) {
        let given = all_differ(&add_at_once(std::slice::from_ref(&open.pets), 64).await);
        assert_eq!(given.into_iter().collect::<Vec<_>>(), (1..=64).collect::<Vec<_>>());
        // Across the end of a block, too, and each block costs one more transaction, not each pet.
        let given = all_differ(&add_at_once(std::slice::from_ref(&open.pets), 64).await);
        assert_eq!(given.into_iter().collect::<Vec<_>>(), (65..=128).collect::<Vec<_>>());
        assert_eq!(open.next_id("pet").await, 201);
    }

    async fn assigned_ids_do_not_overwrite_ids_that_clients_chose(open: Open) {
        let another = open.another(&Setup::default()).await;
        let callers = [open.pets.clone(), another.pets.clone()];
        // The next ones, some a block or two ahead, and those at either end.
        let near = (1..60).step_by(3).chain(95..105).chain(195..205);
        let chosen: Vec<i64> = near.chain([-1, 0, i64::MIN, i64::MAX - 1, i64::MAX]).collect();
        let take = chosen.iter().map(async |id| {
            open.add(&pet_with("chosen", "id", *id)).await;
        });
        let (given, _) = tokio::join!(add_at_once(&callers, 200), join_all(take));
        let given = all_differ(&given);
        // In any order: a client gets the id it chose, and assigned ids do not overwrite it.
        for id in &chosen {
            assert_eq!(open.pet(*id).await.has_status(200).json()["name"], "chosen", "{id}");
        }
        for id in given.iter().filter(|id| !chosen.contains(id)) {
            let found = open.pet(*id).await.has_status(200).json();
            assert!(found["name"].as_str().unwrap().starts_with("pet "), "{found}");
        }
        assert!(given.iter().all(|id| *id > 0 && *id < 1 << 53), "{given:?}");
    }

    async fn id_that_a_client_chose_is_not_assigned(open: Open) {
        let chosen = [1, 2, 4, 7, 100, 101, 150, -1, 0, i64::MAX, i64::MIN];
        for id in chosen {
            open.add(&pet_with("chosen", "id", id)).await;
        }
        let another = open.another(&Setup::default()).await;
        let given = all_differ(&add_at_once(&[open.pets.clone(), another.pets.clone()], 200).await);
        for id in chosen {
            assert!(!given.contains(&id), "{id}");
            open.pet(id).await.is(200, &json!({"id": id, "name": "chosen", "photoUrls": []}));
        }
        assert_eq!(given.len(), 200);
    }

    async fn thousand_consecutive_taken_ids_are_skipped_in_few_tries(open: Open) {
        open.take(1..=1000).await;
        let before = open.dump().await;
        let first = number(&open.add(&pet("Rex")).await, "id");
        assert!((1001..5000).contains(&first), "{first}");
        // Each try uses an id, so the number of unused ids is the number of tries.
        let tried = open.next_id("pet").await;
        assert!(tried < 5000, "{tried}");
        let given = all_differ(&add_at_once(std::slice::from_ref(&open.pets), 100).await);
        assert!(given.iter().all(|id| *id > 1000));
        assert!(
            open.dump().await.starts_with(before.split("----").next().unwrap()),
            "nothing was overwritten"
        );
    }

    async fn taken_ids_are_skipped_by_concurrent_creations(open: Open) {
        // Every other id is taken, so that each at once meets some.
        open.take((1..200).step_by(2)).await;
        let given = all_differ(&add_at_once(std::slice::from_ref(&open.pets), 150).await);
        assert!(given.iter().all(|id| *id >= 200 || id % 2 == 0), "{given:?}");
    }

    async fn free_ids_are_assigned_after_the_largest_id(open: Open) {
        let end = 1_i64 << 53;
        open.set_next_id(end - 250).await;
        let given = all_differ(&add_at_once(std::slice::from_ref(&open.pets), 300).await);
        assert!(given.iter().all(|id| (1..end).contains(id)), "{given:?}");
        for id in &given {
            open.pet(*id).await.has_status(200);
        }
    }

    async fn ids_of_orders_and_users_are_assigned_the_same_way(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let another = open.another(&Setup::default()).await;
        for id in [1, 2, 3, 5, 100, 101, -1, 0, i64::MAX] {
            let order = json!({"id": id, "petId": 5, "quantity": 77});
            open.anyone.post("/v3/store/order").json(&order).send().await.has_status(200);
            let user = json!([{"id": id, "username": format!("chosen {id}")}]);
            open.ada.post("/v3/user/createWithList").json(&user).send().await.has_status(200);
        }
        let callers = [&open.anyone, &another.anyone];
        let users_by = [&open.ada, &another.ada];
        let orders = (0..120).map(async |at: usize| {
            let answer = callers[at % 2].post("/v3/store/order").json(&json!({"petId": 5})).send().await;
            number(&answer.has_status(200).json(), "id")
        });
        let users = (0..40).map(async |at: usize| {
            let users: Value = (0..3).map(|number| json!({"username": format!("{at} {number}")})).collect();
            let answer = users_by[at % 2].post("/v3/user/createWithList").json(&users).send().await;
            assert_eq!(answer.has_status(200).json()["username"], format!("{at} 2"));
        });
        let (orders, _) = tokio::join!(join_all(orders), join_all(users));
        all_differ(&orders);
        for id in [1, 2, 3, 5, 100, 101, -1, 0, i64::MAX] {
            assert!(!orders.contains(&id));
            assert_eq!(open.order(id).await.json()["quantity"], 77);
            let user = open.user(&format!("chosen%20{id}")).await;
            user.is(200, &json!({"id": id, "username": format!("chosen {id}")}));
        }
        let mut given = Vec::new();
        for (at, number_of) in (0..40).flat_map(|at| (0..3).map(move |number| (at, number))) {
            given.push(number(&open.user(&format!("{at}%20{number_of}")).await.has_status(200).json(), "id"));
        }
        all_differ(&given);
    }

    async fn concurrent_replacements_do_not_mix(open: Open) {
        let another = open.another(&Setup::default()).await;
        let callers = [&open.pets, &another.pets];
        let calls = (0..60).map(async |at: usize| {
            let tag = format!("tag {at}");
            let sent =
                json!({"id": 7, "name": tag, "photoUrls": [tag], "tags": [{"name": tag}], "status": "sold"});
            if at % 5 == 4 {
                callers[at % 2].delete("/v3/pet/7").send().await
            } else {
                callers[at % 2].post("/v3/pet").json(&sent).send().await
            }
        });
        for answer in join_all(calls).await {
            assert!(matches!(answer.status, 200 | 404), "{}", answer.text());
        }
        open.add(&pet_with("last", "id", 7)).await;
        for at in 0..60 {
            let found = open.pets.get(&format!("/v3/pet/findByTags?tags=tag+{at}")).send().await;
            assert_eq!(ids(&found), [0_i64; 0]);
        }
        assert_eq!(open.inventory().await, json!({"available": 0, "pending": 0, "sold": 0}));
    }
}
