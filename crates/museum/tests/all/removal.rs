//! Removing an account: its tickets stay, without their buyer.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::fixture::{Open, general, text};

const EMAIL: &str = "zelda@example.net";

fn purchase() -> Value {
    let mut purchase = general("2026-05-20");
    purchase["email"] = json!(EMAIL);
    purchase
}

impl Open {
    async fn everything(&self) -> Vec<String> {
        testkit::dump::all_rows(&self.db, self.store.engine()).await
    }
}

testkit::on_both_engines! {
    async fn tickets_of_a_removed_account_stay_without_its_email(open: Open) {
        let sold = open.buy(&purchase()).await.has_status(201).json();
        open.ben.post("/v1.1/tickets").json(&general("2026-05-20")).send().await.has_status(201);
        assert_eq!(open.everything().await.iter().filter(|row| row.contains(EMAIL)).count(), 1);
        open.remove_user("ada").await.unwrap();
        let left = open.everything().await;
        assert!(left.iter().all(|row| !row.contains(EMAIL) && !row.contains("'ada'") && !row.contains("\"ada\"")));
        let code = text(&sold, "confirmationCode");
        assert_eq!(left.iter().filter(|row| row.starts_with("ticket: ") && row.contains(code)).count(), 1);
        assert_eq!(left.iter().filter(|row| row.contains("ada@example.com")).count(), 1, "another's ticket");
        let again = open.remove_user("ada").await;
        assert!(matches!(again, Err(identity::ChangeError::Unknown)));
    }

    async fn concurrent_removal_and_purchases_leave_no_email(open: Open) {
        let purchase = purchase();
        let buying = join_all((0..8).map(|_| open.buy(&purchase)));
        let (answers, removed) = tokio::join!(buying, open.remove_user("ada"));
        removed.unwrap();
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            answer.is_problem(401, "unauthorized");
            assert!(answer.header("www-authenticate").starts_with("Basic realm="));
        }
        let left = open.everything().await;
        assert!(left.iter().all(|row| !row.contains(EMAIL)), "{left:?}");
    }
}
