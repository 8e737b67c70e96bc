//! The time of a failed sign-in does not reveal which names exist: each one does the same work. The tests count the work
//! instead of measuring time.

use db::Db;
use identity::Accounts;

use crate::{
    oauth::fixture::{APP, Browser, Harness, Service},
    support::{HERE, Outcome, PASSWORD, World, sign_in},
};

/// Names that cannot sign in with this password outside of a demo, for each of the reasons there are.
const REFUSED: [(&str, &str); 4] = [
    ("known", "a wrong password"),
    ("unknown", "a wrong password"),
    ("without-password", "a wrong password"),
    ("demo", "well known"),
];

async fn add_accounts(accounts: &Accounts, db: &Db) {
    accounts.add("known", PASSWORD.into()).await.unwrap();
    accounts.add("without-password", PASSWORD.into()).await.unwrap();
    let forget = "UPDATE account SET password_hash = NULL WHERE name = 'without-password'";
    let forgotten: Result<_, db::Error> = db.write(|tx| tx.execute(forget, &[])).await;
    assert_eq!(forgotten.unwrap(), 1);
    accounts.add_demo("demo", "well known").await.unwrap();
}

testkit::on_both_engines! {
    async fn every_rejected_sign_in_hashes_once(world: World) {
        add_accounts(&world.accounts, &world.db).await;
        let accounts = world.without_demo();
        for (number, (name, password)) in (1..).zip(REFUSED) {
            assert_eq!(sign_in(&accounts, name, password, HERE).await, Outcome::Wrong, "{name}");
            assert_eq!(accounts.password_checks(), number, "{name}");
        }
        // A right password needs one hash as well; a cached one needs none.
        for _ in 0..2 {
            assert!(matches!(sign_in(&accounts, "known", PASSWORD, HERE).await, Outcome::In(_)));
            assert_eq!(accounts.password_checks(), 5);
        }
    }

    async fn every_rejected_sign_in_on_the_page_hashes_once(harness: Harness) {
        let service = Service::start_with(&harness.db, &harness.clock, None, |settings| settings.demo = false).await;
        add_accounts(&service.accounts, &harness.db).await;
        let (client, _) = service.register("App", &[], false).await;
        let path = format!("/oauth/authorize?{}", service.request(&[("client_id", &client), ("redirect_uri", APP)]));
        for (number, (name, password)) in (1..).zip(REFUSED) {
            let mut browser = Browser::new(&service);
            browser.post(&path, &[("intent", "sign-in"), ("name", name), ("password", password)]).await;
            let page = browser.get(&path).await;
            assert!(page.has_status(200).text().contains("<h1>Sign in</h1>"), "{name}: {}", page.text());
            assert_eq!(service.accounts.password_checks(), number, "{name}");
        }
    }
}
