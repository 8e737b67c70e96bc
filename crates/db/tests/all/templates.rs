//! Databases that are copies of a template.

use std::{fs, os::unix::fs::PermissionsExt, sync::Barrier, thread};

use db::Databases;
use testkit::{Engine, Store};

use crate::{
    groups::{SCHEMA as SHELF, add, books},
    snapshots::{SCHEMA, TABLES, furnish, furnished, hotel, run},
};

/// A template with the hotel and a copy of its tables, closed.
async fn template(root: &Databases) -> Databases {
    let template = root.group("template").unwrap();
    let db = template.open("hotel", SCHEMA).unwrap();
    furnish(&db).await;
    db.save_copy("seed", TABLES).await.unwrap();
    template
}

testkit::on_both_engines! {
    async fn copy_has_the_rows_of_its_template(store: Store) {
        let root = store.connect();
        let template = template(&root).await;
        for name in ["ada", "bob"] {
            let group = root.group(name).unwrap();
            group.copy(&template, "hotel", SCHEMA).unwrap();
            let db = group.open("hotel", SCHEMA).unwrap();
            assert_eq!(hotel(&db).await, furnished());
            assert_eq!(db.copies().await.unwrap(), ["seed"]);
            run(&db, "INSERT INTO guest (id, room_id) VALUES (3, 1)").await;
            assert_eq!(hotel(&db).await.2, 3);
            assert!(db.restore_copy("seed", TABLES).await.unwrap());
            assert_eq!(hotel(&db).await, furnished());
            run(&db, "DELETE FROM room").await;
        }
        assert_eq!(hotel(&template.open("hotel", SCHEMA).unwrap()).await, furnished());
    }

    async fn copy_does_not_replace_a_database(store: Store) {
        let root = store.connect();
        let template = root.group("template").unwrap();
        drop(template.open("shelf", SHELF).unwrap());
        let ada = root.group("ada").unwrap();
        ada.copy(&template, "shelf", SHELF).unwrap();
        let db = ada.open("shelf", SHELF).unwrap();
        add(&db, 1).await;
        let again = ada.copy(&template, "shelf", SHELF).err().unwrap().to_string();
        assert!(again.ends_with("it exists already"), "{again}");
        assert_eq!(books(&db).await, [1]);
    }

    async fn one_of_eight_concurrent_copies_is_made(store: Store) {
        let root = store.connect();
        let template = template(&root).await;
        let group = root.group("ada").unwrap();
        let together = Barrier::new(8);
        let made: Vec<_> = thread::scope(|scope| {
            let copies: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        together.wait();
                        group.copy(&template, "hotel", SCHEMA)
                    })
                })
                .collect();
            copies.into_iter().map(|copy| copy.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1, "{made:?}");
        for why in made.into_iter().filter_map(Result::err) {
            assert!(why.to_string().ends_with("it exists already"), "{why}");
        }
        assert_eq!(hotel(&group.open("hotel", SCHEMA).unwrap()).await, furnished());
        if let Some(folder) = store.folder() {
            let left = fs::read_dir(folder.join("sandboxes/ada")).unwrap();
            let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(left, ["hotel.db"]);
        }
    }

    async fn copy_without_a_template_or_a_group_is_rejected(store: Store) {
        let root = store.connect();
        let (template, ada) = (root.group("template").unwrap(), root.group("ada").unwrap());
        let missing = ada.copy(&template, "hotel", SCHEMA).err().unwrap().to_string();
        assert!(missing.ends_with("the template does not exist"), "{missing}");
        drop(template.open("hotel", SCHEMA).unwrap());
        let ungrouped = root.copy(&template, "hotel", SCHEMA).err().unwrap().to_string();
        assert_eq!(ungrouped, "only a database of a group can be a copy");
        let invalid = ada.copy(&template, "../hotel", SCHEMA).err().unwrap().to_string();
        assert!(invalid.starts_with("the name of a database, \"../hotel\", is not"), "{invalid}");
        assert_eq!(root.groups().unwrap(), ["template"]);
    }
}

#[test]
fn file_of_a_copy_is_for_its_owner_only() {
    testkit::run(Engine::Sqlite, async |store: Store| {
        let root = store.connect();
        let template = template(&root).await;
        root.group("ada").unwrap().copy(&template, "hotel", SCHEMA).unwrap();
        let folder = store.folder().unwrap().join("sandboxes");
        for (path, mode) in [("", 0o700), ("ada", 0o700), ("ada/hotel.db", 0o600)] {
            let found = fs::metadata(folder.join(path)).unwrap().permissions().mode() & 0o7777;
            assert_eq!(found, mode, "{path}");
        }
    });
}

#[test]
fn open_template_is_not_copied() {
    testkit::run(Engine::Sqlite, async |store: Store| {
        let root = store.connect();
        let template = root.group("template").unwrap();
        let db = template.open("shelf", SHELF).unwrap();
        add(&db, 1).await;
        let ada = root.group("ada").unwrap();
        let open = ada.copy(&template, "shelf", SHELF).err().unwrap().to_string();
        assert!(open.ends_with("the template is open, or was not closed"), "{open}");
        drop(db);
        ada.copy(&template, "shelf", SHELF).unwrap();
        assert_eq!(books(&ada.open("shelf", SHELF).unwrap()).await, [1]);
    });
}
