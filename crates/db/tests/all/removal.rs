//! Removal of groups.

use std::fs;

use testkit::{Engine, Store};

use crate::groups::{SCHEMA, add, books, schemas};

testkit::on_both_engines! {
    async fn removed_group_leaves_nothing(store: Store) {
        let root = store.connect();
        let (ada, other) = (root.group("ada").unwrap(), root.group("ada-b").unwrap());
        assert_eq!(root.groups().unwrap(), [""; 0]);
        for name in ["shelf", "desk"] {
            add(&root.open(name, SCHEMA).unwrap(), 1).await;
            add(&ada.open(name, SCHEMA).unwrap(), 2).await;
            add(&other.open(name, SCHEMA).unwrap(), 3).await;
        }
        assert_eq!(root.groups().unwrap(), ["ada", "ada-b"]);
        for _ in 0..2 {
            ada.remove_group().unwrap();
            assert_eq!(ada.groups().unwrap(), ["ada-b"]);
        }
        match store.engine() {
            Engine::Sqlite => {
                let left = fs::read_dir(store.folder().unwrap().join("sandboxes")).unwrap();
                assert_eq!(left.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>(), ["ada-b"]);
            }
            Engine::Postgres => {
                let expected = ["desk", "sandbox_ada_b_desk", "sandbox_ada_b_shelf", "shelf"];
                assert_eq!(schemas(&root).await, expected);
            }
        }
        assert_eq!(books(&root.open("shelf", SCHEMA).unwrap()).await, [1]);
        assert_eq!(books(&other.open("shelf", SCHEMA).unwrap()).await, [3]);
        let again = ada.open("shelf", SCHEMA).unwrap();
        assert_eq!(books(&again).await, [0; 0]);
    }

    async fn only_a_group_can_be_removed(store: Store) {
        let root = store.connect();
        add(&root.open("shelf", SCHEMA).unwrap(), 1).await;
        let refused = root.remove_group().err().unwrap().to_string();
        assert_eq!(refused, "only a group of databases can be removed");
        assert_eq!(books(&root.open("shelf", SCHEMA).unwrap()).await, [1]);
    }
}
