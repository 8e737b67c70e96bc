//! `triptych user …`, also while the service runs.

use crate::common::{Workspace, refused, with_input};
use testkit::Client;

const EVENTS: &str = "/v1.1/special-events";

testkit::on_both_engines! {
    async fn users_are_added_changed_and_removed_while_the_service_runs(workspace: Workspace) {
        let program = workspace.serve();
        let museum = Client::new(program.address("museum"));
        let sign_in = async |name: &str, password: &str| {
            museum.signed_in(name, password).get(EVENTS).send().await.status
        };
        let user = |action: &str, name: &str, input: &str| {
            with_input(&mut workspace.command(&["user", action, "museum", name]), input)
        };

        assert_eq!(sign_in("zoë", "first password").await, 401);
        let added = user("add", "zoë", "first password\n");
        assert!(added.status.success());
        assert_eq!(String::from_utf8_lossy(&added.stdout), "zoë: added\n");
        assert_eq!(sign_in("zoë", "first password").await, 200);
        assert_eq!(refused(&user("add", "zoë", "another one\n")), "triptych: there is a user \"zoë\" already");
        assert_eq!(sign_in("zoë", "first password").await, 200);

        let changed = user("passwd", "zoë", "second password\r\n");
        assert_eq!(String::from_utf8_lossy(&changed.stdout), "zoë: password changed\n");
        assert_eq!(sign_in("zoë", "first password").await, 401);
        assert_eq!(sign_in("zoë", "second password").await, 200);

        let removed = user("remove", "zoë", "");
        assert_eq!(String::from_utf8_lossy(&removed.stdout), "zoë: removed\n");
        assert_eq!(sign_in("zoë", "second password").await, 401);
        assert_eq!(refused(&user("remove", "zoë", "")), "triptych: there is no user \"zoë\"");
        assert_eq!(refused(&user("passwd", "zoë", "third password")), "triptych: there is no user \"zoë\"");
    }

    async fn name_that_no_path_of_the_pet_store_reaches_is_rejected(workspace: Workspace) {
        assert!(workspace.serve().terminate().success());
        for name in ["login", "logout", "createWithList", ".", ".."] {
            let added = with_input(&mut workspace.command(&["user", "add", "petstore", name]), "long enough\n");
            assert_eq!(refused(&added), "triptych: this name is reserved; choose another one", "{name}");
        }
        let added = with_input(&mut workspace.command(&["user", "add", "petstore", "Login"]), "long enough\n");
        assert_eq!(String::from_utf8_lossy(&added.stdout), "Login: added\n");
    }

    async fn invalid_names_and_passwords_are_rejected(workspace: Workspace) {
        assert!(workspace.serve().terminate().success());
        let add = |name: &str, input: &str| {
            refused(&with_input(&mut workspace.command(&["user", "add", "museum", name]), input))
        };
        let password = "triptych: a password must have at least 8 characters and at most 1024 bytes";
        assert_eq!(add("ada", "short\n"), password);
        assert_eq!(add("ada", ""), password);
        assert_eq!(add("ada", &"x".repeat(1025)), password);
        assert_eq!(
            add("a:b", "long enough"),
            "triptych: a name must not contain control characters, or a colon, which HTTP Basic cannot carry"
        );
        assert_eq!(add("", "long enough"), "triptych: a name must have 1 to 100 characters");
    }

    async fn demo_account_with_a_new_password_becomes_ordinary(workspace: Workspace) {
        assert!(workspace.serve().terminate().success());
        let changed = with_input(&mut workspace.command(&["user", "passwd", "museum", "demo"]), "a password of its own\n");
        assert!(changed.status.success());
        let program = testkit::Program::start(&mut workspace.serving_without_demo());
        let museum = Client::new(program.address("museum"));
        museum.signed_in("demo", "a password of its own").get(EVENTS).send().await.has_status(200);
        museum.signed_in("demo", "demo").get(EVENTS).send().await.is_problem(401, "unauthorized");
    }
}
