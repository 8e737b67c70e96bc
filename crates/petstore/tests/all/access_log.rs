//! The access log names the user and the client of each kind of credential.

use testkit::{Log, Store};

use crate::fixture::{Open, Setup};

testkit::on_one_engine! {
    async fn each_kind_of_credential_names_its_user_and_client(store: Store) {
        let log = Log::start();
        let open = Open::on(store, Setup::default()).await;
        let session = open.session_of("ada").await;
        let by_cookie = open.anyone.with("cookie", format!("petstore_session={session}"));
        let program = open.anyone.bearer(&open.token_of_a_client().await);
        let client: String = open.one("SELECT id FROM oauth_client WHERE name = 'A program'").await;
        let command_line: String = open.one("SELECT client_id FROM oauth_grant WHERE account_id IS NOT NULL").await;
        for (what, caller, path, user, client_id) in [
            ("session", &open.ada, "/v3/user/unknown", Some("ada"), None),
            ("cookie", &by_cookie, "/v3/user/unknown", Some("ada"), None),
            ("token", &open.pets, "/v3/pet/1", Some("ada"), Some(command_line.as_str())),
            ("client", &program, "/v3/pet/1", None, Some(client.as_str())),
            ("key", &open.key, "/v3/pet/1", None, Some("test")),
            ("nothing", &open.anyone, "/v3/pet/1", None, None),
        ] {
            let id = format!("credential-{what}-{}", open.server.address().port());
            let answer = caller.delete(path).header("x-request-id", &id).send().await;
            answer.has_status(if what == "nothing" { 401 } else { 404 });
            let lines = log.about(&id);
            assert_eq!(lines.len(), 1, "{lines:?}");
            let fields = &lines[0]["fields"];
            let named = (fields["user"].as_str(), fields["client_id"].as_str());
            assert_eq!(named, (user, client_id), "{what}: {fields}");
        }
    }
}

impl Open {
    /// The one text that a statement reads.
    async fn one(&self, statement: &'static str) -> String {
        let found = self.db.read(move |tx| tx.row(statement, &[], |row| row.get(0)));
        found.await.unwrap_or_else(|error: db::Error| panic!("{error}")).unwrap()
    }
}
