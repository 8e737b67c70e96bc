//! `GET /store/inventory`: correct after each change of a pet, also with concurrent changes.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    answers::{ids, pet_with},
    fixture::{As, Open, Setup},
};

fn counts(available: usize, pending: usize, sold: usize) -> Value {
    json!({"available": available, "pending": pending, "sold": sold})
}

impl Open {
    /// How many pets of each status a list of all of them has.
    async fn counted(&self) -> Value {
        let mut found = Vec::new();
        for status in ["available", "pending", "sold"] {
            let path = format!("/v3/pet/findByStatus?status={status}");
            found.push(ids(&self.pets.get(&path).send().await).len());
        }
        counts(found[0], found[1], found[2])
    }
}

testkit::on_both_engines! {
    async fn inventory_counts_every_status_including_zero(open: Open) {
        let answer = open.key.get("/v3/store/inventory").send().await;
        answer.is(200, &counts(0, 0, 0));
        assert_eq!(answer.text(), "{\"available\":0,\"pending\":0,\"sold\":0}");
    }

    async fn inventory_is_exact_after_each_change(open: Open) {
        let check = async |step: &str, available, pending, sold| {
            assert_eq!(open.inventory().await, counts(available, pending, sold), "{step}");
        };
        let with = |id: i64, status: Option<&str>| {
            let mut pet = pet_with("Rex", "id", id);
            if let Some(status) = status {
                pet["status"] = status.into();
            }
            pet
        };
        let post = async |id, status| open.add(&with(id, status)).await;
        let put = async |id, status| {
            open.pets.put("/v3/pet").json(&with(id, status)).send().await.has_status(200);
        };
        let change = async |query: &str| {
            open.pets.post(&format!("/v3/pet/{query}")).send().await.has_status(200);
        };
        post(1, Some("available")).await;
        check("a pet comes", 1, 0, 0).await;
        post(2, None).await;
        check("one without a status", 1, 0, 0).await;
        open.add(&json!({"name": "Max", "photoUrls": [], "status": "sold"})).await;
        check("one without an id", 1, 0, 1).await;
        post(-17, Some("pending")).await;
        check("one with a negative id", 1, 1, 1).await;
        post(1, Some("sold")).await;
        check("posted again", 0, 1, 2).await;
        post(1, Some("sold")).await;
        check("and again the same", 0, 1, 2).await;
        put(1, Some("pending")).await;
        check("put", 0, 2, 1).await;
        put(1, None).await;
        check("put without a status", 0, 1, 1).await;
        put(1, Some("available")).await;
        check("put with one again", 1, 1, 1).await;
        change("1?status=sold").await;
        check("changed", 0, 1, 2).await;
        change("1?name=Max").await;
        check("named", 0, 1, 2).await;
        change("2?status=available").await;
        check("the first status it has", 1, 1, 2).await;
        open.pets.delete("/v3/pet/2").send().await.has_status(200);
        check("deleted", 0, 1, 2).await;
        open.pets.delete("/v3/pet/2").send().await.has_status(404);
        check("deleted once more", 0, 1, 2).await;
        open.pets.post("/v3/pet").json(&with(5, Some("lost"))).send().await.has_status(422);
        open.pets.put("/v3/pet").json(&with(6, Some("sold"))).send().await.has_status(404);
        open.pets.post("/v3/pet/1?status=lost").send().await.has_status(400);
        open.anyone.post("/v3/pet").json(&with(7, Some("sold"))).send().await.has_status(401);
        check("refused", 0, 1, 2).await;
        let failed = open.db.write(|tx| {
            tx.execute("UPDATE pet SET status = 'available'", &[])?;
            tx.execute("DELETE FROM pet", &[])?;
            Err::<(), _>(db::Error::Fault("on purpose".into()))
        });
        failed.await.unwrap_err();
        check("rolled back", 0, 1, 2).await;
        assert_eq!(open.counted().await, open.inventory().await);
    }

    async fn inventory_is_exact_after_concurrent_changes(open: Open) {
        let another = open.another(&Setup::default()).await;
        let mut running = JoinSet::new();
        for task in 0..16_u64 {
            let pets = if task % 2 == 0 { open.pets.clone() } else { another.pets.clone() };
            running.spawn(async move { work(task, &pets).await });
        }
        let done: usize = running.join_all().await.iter().sum();
        assert!(done >= 200, "{done} changes were made");
        assert_eq!(open.inventory().await, open.counted().await);
        let left = open.inventory().await;
        assert_ne!(left, counts(0, 0, 0));
        // After all pets are deleted, all counts are 0.
        for id in ids(&open.pets.get("/v3/pet/findByStatus?status=available,pending,sold").send().await) {
            open.pets.delete(&format!("/v3/pet/{id}")).send().await.has_status(200);
        }
        assert_eq!(open.inventory().await, counts(0, 0, 0));
    }
}

/// Does thirty things with the same few pets that all others work on. Says how many of them changed something.
async fn work(seed: u64, pets: &As) -> usize {
    const STATUSES: [&str; 3] = ["available", "pending", "sold"];
    let mut number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut next = |bound: u64| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) % bound
    };
    let mut changes = 0;
    for _ in 0..30 {
        let (id, status) = (next(12) as i64 - 4, STATUSES[next(3) as usize]);
        let mut pet = pet_with("Rex", "id", id);
        pet["tags"] = json!([{"name": "t"}, {"name": status}]);
        if next(4) > 0 {
            pet["status"] = status.into();
        }
        let answer = match next(5) {
            0 => pets.post("/v3/pet").json(&pet).send().await,
            1 => pets.put("/v3/pet").json(&pet).send().await,
            2 => pets.post(&format!("/v3/pet/{id}?status={status}")).send().await,
            3 => pets.delete(&format!("/v3/pet/{id}")).send().await,
            _ => {
                pet.as_object_mut().unwrap().remove("id");
                pets.post("/v3/pet").json(&pet).send().await
            }
        };
        assert!(matches!(answer.status, 200 | 404), "{}", answer.text());
        changes += usize::from(answer.status == 200);
    }
    changes
}
