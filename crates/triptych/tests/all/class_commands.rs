//! `triptych class …`, while the server runs in another process.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use crate::{
    common::{Workspace, failed_with, refused},
    sandbox_commands::Sandboxes,
};
use testkit::Program;

const CREATE: [&str; 6] = ["class", "create", "--students", "6", "--name", "monday"];

/// The rows of a table, each with its words.
fn rows(table: &str) -> Vec<Vec<&str>> {
    table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect()
}

testkit::on_one_engine! {
    async fn class_has_a_csv_file_and_a_page_to_print(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        let (csv, page) = (workspace.folder.path().join("monday.csv"), workspace.folder.path().join("monday.html"));
        let create = [&CREATE[..], &["--csv", "monday.csv", "--page", "monday.html"]].concat();
        let said = sandboxes.run(&create);
        let students = rows(&said);
        for file in [&csv, &page] {
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let url = |service: &str| format!("http://{}/sandbox/monday-01", sandboxes.program.address(service));
        let csv = fs::read_to_string(csv).unwrap();
        let lines: Vec<_> = csv.split("\r\n").collect();
        assert_eq!(
            lines[0],
            "name,control_token,control_url,petstore_url,petstore_docs,train_url,train_docs,museum_url,museum_docs"
        );
        let [store, train, museum] = ["petstore", "train", "museum"].map(url);
        let token = students[0][2];
        assert_eq!(
            lines[1],
            format!(
                "monday-01,{token},{store}/_control,{store}/v3,{store}/docs,{train},{train}/docs,{museum}/v1.1,{museum}/docs"
            )
        );
        assert_eq!(lines.len(), 8, "a header, six students and the end of the last line");

        let page = fs::read_to_string(page).unwrap();
        assert_eq!(page.matches("<article class=\"card\">").count(), 6);
        assert_eq!(page.matches("<svg ").count(), 6);
        assert!(page.contains("break-inside: avoid"));
        let card = page.split("<article").nth(1).unwrap();
        for text in [
            "<h2>monday-01</h2>".to_owned(),
            format!("<a href=\"{store}/docs\">{store}/docs</a>"),
            format!("<code>{store}/v3</code>"),
            format!("Train travel (<a href=\"{train}/docs\">documentation</a>)"),
            format!("<code>{museum}/v1.1</code>"),
            "HTTP Basic, demo / demo".to_owned(),
            format!("Control token: <code>{token}</code>"),
            format!("Controls: <code>{store}/_control</code>"),
            format!("<code>curl -X POST -H 'Authorization: Bearer {token}' {store}/_control/reset</code>"),
        ] {
            assert!(card.contains(&text), "{text} is not in {card}");
        }
        let warning = "Set\npetstore.address, train.address, museum.address in the settings of the server";
        assert!(page.contains(warning), "{page}");
        // The tokens in it are shown nowhere else.
        sandboxes.run(&["class", "delete", "monday"]);
        let again = sandboxes.command(&create).output().unwrap();
        assert_eq!(refused(&again), "triptych: there is a file monday.csv already; choose another name");
        assert_eq!(rows(&sandboxes.run(&["sandbox", "list"])).len(), 0);
    }

    async fn page_of_a_server_with_public_addresses_has_no_warning(workspace: Workspace) {
        let mut command = workspace.serving();
        for service in ["PETSTORE", "TRAIN", "MUSEUM"] {
            command.env(format!("TRIPTYCH_{service}_ADDRESS"), format!("https://{}.example.com", service.to_lowercase()));
        }
        let sandboxes = Sandboxes::of(&workspace, Program::start(&mut command));
        sandboxes.run(&["class", "create", "--students", "1", "--name", "monday", "--page", "monday.html"]);
        let page = fs::read_to_string(workspace.folder.path().join("monday.html")).unwrap();
        assert!(page.contains("https://train.example.com/sandbox/monday-01"), "{page}");
        assert!(!page.contains("other machines"), "{page}");
    }

    async fn table_is_printed_if_a_file_cannot_be_written(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        let create = sandboxes.command(&[&CREATE[..], &["--csv", "monday.csv", "--page", "monday.html"]].concat());
        // No file can have more than 0 bytes, as on a full disk.
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]).arg(create.get_program()).args(create.get_args());
        shell.current_dir(workspace.folder.path());
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(rows(&String::from_utf8(output.stdout).unwrap()).len(), 6);
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            "triptych: cannot write monday.csv: File too large (os error 27); cannot write monday.html: File too large (os error 27)\n"
        );
        for file in ["monday.csv", "monday.html"] {
            assert!(!workspace.folder.path().join(file).exists(), "{file}");
        }
    }

    async fn list_has_all_pages(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        let created = sandboxes.run(&["class", "create", "--students", "201", "--name", "large"]);
        let names = |table: &str| rows(table).iter().map(|row| row[0].to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&created).len(), 201);
        assert_eq!(names(&sandboxes.run(&["sandbox", "list"])), names(&created));
    }

    async fn class_that_is_created_in_part_is_listed(workspace: Workspace) {
        let mut command = workspace.serving();
        command.env("TRIPTYCH_SANDBOXES_MOST", "5");
        let sandboxes = Sandboxes::of(&workspace, Program::start(&mut command));
        let create = [&CREATE[..], &["--csv", "monday.csv"]].concat();
        let output = sandboxes.command(&create).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let table = String::from_utf8(output.stdout).unwrap();
        assert_eq!(rows(&table).len(), 5);
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            "triptych: 5 of 6 sandboxes were created, as listed; then: There are as many sandboxes as there can be. Try again \
             later. (429 Too Many Requests). To start again, delete them with triptych class delete monday\n"
        );
        let csv = fs::read_to_string(workspace.folder.path().join("monday.csv")).unwrap();
        assert_eq!(csv.lines().count(), 6);
        // Where none can be created, no file is left behind.
        let tuesday = ["class", "create", "--students", "2", "--name", "tuesday", "--page", "tuesday.html"];
        let refused = sandboxes.command(&tuesday).output().unwrap();
        assert_eq!(
            failed_with(1, &refused),
            "triptych: There are as many sandboxes as there can be. Try again later. (429 Too Many Requests)"
        );
        assert!(!workspace.folder.path().join("tuesday.html").exists());
    }

    async fn class_is_created_reset_and_deleted(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        let said = sandboxes.run(&CREATE);
        let url = sandboxes.url();
        let students = rows(&said);
        assert_eq!(students.len(), 6);
        for (at, student) in students.iter().enumerate() {
            let name = format!("monday-0{}", at + 1);
            let link = format!("{url}/sandbox/{name}/docs");
            assert_eq!(student[..2], [name.as_str(), &link]);
            let call = sandboxes.petstore().get(&format!("/sandbox/{name}/_control"));
            let shown = call.header("authorization", &format!("Bearer {}", student[2])).send().await;
            assert_eq!(shown.has_status(200).json()["class"], "monday");
        }
        assert_eq!(
            sandboxes.fails(&CREATE),
            "triptych: there is a class monday already, with 6 sandboxes: delete it with triptych class delete monday, or choose \
             another name"
        );
        sandboxes.run(&["sandbox", "create", "other"]);
        sandboxes.run(&["sandbox", "sign-in", "monday-05", "--mode", "off"]);
        sandboxes.petstore().delete("/sandbox/monday-05/v3/pet/1").send().await.has_status(200);
        let all = |done: &str| (1..=6).map(|at| format!("monday-0{at}: {done}")).collect::<Vec<_>>().join("\n");
        assert_eq!(sandboxes.run(&["class", "reset", "monday"]), all("reset"));
        sandboxes.petstore().get("/sandbox/monday-05/v3/pet/1").send().await.has_status(200);
        assert_eq!(sandboxes.run(&["class", "delete", "monday"]), all("deleted"));
        assert_eq!(rows(&sandboxes.run(&["sandbox", "list"])).len(), 1);
        assert_eq!(sandboxes.fails(&["class", "delete", "monday"]), "triptych: there is no class monday");
        assert_eq!(sandboxes.fails(&["class", "reset", "monday"]), "triptych: there is no class monday");
    }
}
