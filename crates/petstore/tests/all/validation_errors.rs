//! All validation errors that need no database are listed in one answer.

use serde_json::json;

use crate::{answers::is_broken, bad_input::ID, fixture::Open};

testkit::on_one_engine! {
    async fn repeated_users_of_a_list_are_listed_with_the_other_validation_errors(open: Open) {
        let users = json!([
            {"id": 7, "username": "same"},
            {"id": 7, "username": "same", "email": 5},
            {"username": "same", "userStatus": "x"},
        ]);
        let answer = open.ada.post("/v3/user/createWithList").json(&users).send().await;
        is_broken(&answer, &[
            ("#/1/email", "must be text"),
            ("#/1/username", "is the username of another user in the list"),
            ("#/1/id", "is the id of another user in the list"),
            ("#/2/userStatus", "must be a whole number from -2147483648 to 2147483647"),
            ("#/2/username", "is the username of another user in the list"),
        ]);
    }

    async fn missing_id_of_a_replacement_is_listed_with_the_other_validation_errors(open: Open) {
        let answer = open.pets.put("/v3/pet").json(&json!({"name": "", "photoUrls": 1})).send().await;
        answer.is_invalid(&[
            ("#/name", "must not be empty"),
            ("#/photoUrls", "must be a list"),
            ("#/id", "is required, to say which pet is replaced"),
        ]);
    }

    async fn change_of_a_pet_lists_validation_errors_of_path_and_query(open: Open) {
        let answer = open.pets.post("/v3/pet/x?name=&status=lost").send().await;
        answer.is_invalid(&[
            ("{petId}", ID),
            ("?name", "must not be empty"),
            ("?status", "must be one of: available, pending, sold"),
        ]);
    }

    async fn upload_lists_validation_errors_of_path_and_query(open: Open) {
        let path = format!("/v3/pet/x/uploadImage?additionalMetadata={}", "x".repeat(1001));
        let answer = open.pets.post(&path).body("image/png", "x").send().await;
        answer.is_invalid(&[
            ("{petId}", ID),
            ("?additionalMetadata", "must be at most 1000 characters long, not 1001"),
        ]);
    }

    async fn change_of_a_user_lists_validation_errors_of_path_and_body(open: Open) {
        let answer = open.ada.put("/v3/user/a:b").json(&json!({"email": 5})).send().await;
        answer.is_invalid(&[
            ("{username}", "must be a username: 1 to 100 characters, no control characters, no colon"),
            ("#/email", "must be text"),
        ]);
    }
}
