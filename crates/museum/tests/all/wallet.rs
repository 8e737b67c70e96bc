//! `GET /tickets/{ticketId}/pkpass` as a pass for Apple Wallet, checked by OpenSSL.

use std::{
    collections::BTreeMap,
    fs,
    io::{Cursor, Read},
    path::Path,
    process::Command,
};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use http::Method;
use museum::{Settings, WalletSettings};
use serde_json::{Value, json};
use service::Service;
use testkit::{Answer, Client, Engine, Store};

use crate::{
    fixture::{Open, Setup, event, general, text, ticket_to},
    qr::{link_of, of_png},
};

const PKPASS: &str = "application/vnd.apple.pkpass";

fn in_a_demo() -> Setup {
    Setup { demo: true, ..Setup::default() }
}

/// Reads a ticket of this client as a pass.
async fn pass_of(client: &Client, ticket: &Value) -> Answer {
    let path = format!("/v1.1/tickets/{}/pkpass", text(ticket, "ticketId"));
    client.get(&path).header("accept", PKPASS).send().await
}

/// The files of a pass, by their names.
#[track_caller]
fn files_of(answer: &Answer) -> BTreeMap<String, Vec<u8>> {
    assert_eq!((answer.status, answer.header("content-type")), (200, PKPASS), "{}", answer.text());
    assert_eq!(answer.header("cache-control"), "no-store");
    let mut archive = zip::ZipArchive::new(Cursor::new(answer.body.clone())).unwrap();
    let count = archive.len();
    let read = |at| {
        let mut file = archive.by_index(at).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        (file.name().unwrap().into_owned(), bytes)
    };
    (0..count).map(read).collect()
}

/// Runs OpenSSL in a folder, and gives what it prints.
#[track_caller]
fn openssl(folder: &Path, arguments: &str) -> String {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("openssl: {error}; run tools/install"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments}: {said}");
    format!("{}{said}", String::from_utf8_lossy(&output.stdout))
}

/// Writes the files of a pass into a folder, with its certificates in `certificates.pem`.
fn unpacked(files: &BTreeMap<String, Vec<u8>>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    openssl(folder.path(), "pkcs7 -inform DER -in signature -print_certs -out certificates.pem");
    folder
}

/// Asserts that the manifest has the hashes of all files, and that its signature is valid for this root.
#[track_caller]
fn is_signed(files: &BTreeMap<String, Vec<u8>>, root: &Path) {
    let manifest: BTreeMap<String, String> = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let signed = files.iter().filter(|(name, _)| !["manifest.json", "signature"].contains(&name.as_str()));
    let hash = |bytes: &[u8]| {
        let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes);
        hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    assert_eq!(manifest, signed.map(|(name, bytes)| (name.clone(), hash(bytes))).collect());
    let folder = unpacked(files);
    let verify = |options: &str| {
        let arguments = format!(
            "cms -verify -binary -content manifest.json -inform DER -in signature -out verified -CAfile {} {options}",
            root.display()
        );
        openssl(folder.path(), arguments.trim_end())
    };
    verify("");
    assert_eq!(fs::read(folder.path().join("verified")).unwrap(), files["manifest.json"]);
    let smime =
        "smime -verify -binary -content manifest.json -inform DER -in signature -noverify -out verified";
    openssl(folder.path(), smime);
    let printed = openssl(folder.path(), "cms -cmsout -print -inform DER -in signature -noout");
    for part in [
        "sha256 (2.16.840.1.101.3.4.2.1)",
        "signingTime",
        "UTCTIME:May 13 10:00:00 2026 GMT",
        "eContent: <ABSENT>",
    ] {
        assert!(printed.contains(part), "no {part} in {printed}");
    }
    // A changed manifest is not valid.
    fs::write(folder.path().join("manifest.json"), "{}").unwrap();
    let mut command = Command::new("openssl");
    let changed = command.args(smime.split(' ')).current_dir(folder.path()).output().unwrap();
    assert!(!changed.status.success());
}

/// The certificates of a pass, in PEM.
fn certificates_of(answer: &Answer) -> String {
    fs::read_to_string(unpacked(&files_of(answer)).path().join("certificates.pem")).unwrap()
}

/// The size of a PNG, from its header.
fn size_of(png: &[u8]) -> (u32, u32) {
    png::Decoder::new(Cursor::new(png)).read_info().unwrap().info().size()
}

testkit::on_both_engines! {
    async fn pass_of_a_demo_is_signed_with_its_certificate(store: Store) {
        let open = Open::on(store, in_a_demo()).await;
        let created = open.create(&event("Sasquatch \"Ballet\" 🩰", &["2026-05-22"])).await;
        let ticket = open.buy(&ticket_to(&created, "2026-05-22")).await.has_status(201).json();
        let answer = pass_of(&open.ada, &ticket).await;
        let files = files_of(&answer);
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        let expected =
            ["icon.png", "icon@2x.png", "logo.png", "logo@2x.png", "manifest.json", "pass.json", "signature"];
        assert_eq!(names, expected);
        let folder = unpacked(&files);
        is_signed(&files, &folder.path().join("certificates.pem"));
        let sizes = ["icon.png", "icon@2x.png", "logo.png", "logo@2x.png"].map(|name| size_of(&files[name]));
        assert_eq!(sizes, [(29, 29), (58, 58), (50, 50), (100, 100)]);

        let pass: Value = serde_json::from_slice(&files["pass.json"]).unwrap();
        let link = format!("http://{}{}", open.anyone.address(), link_of(&ticket));
        let barcode = json!({
            "format": "PKBarcodeFormatQR", "message": link, "messageEncoding": "iso-8859-1",
            "altText": ticket["confirmationCode"],
        });
        let field = |key: &str, label: &str, value: &Value| json!([{"key": key, "label": label, "value": value}]);
        assert_eq!(
            pass,
            json!({
                "formatVersion": 1,
                "passTypeIdentifier": "pass.example.triptych.museum",
                "teamIdentifier": "DEMO000000",
                "serialNumber": ticket["ticketId"],
                "organizationName": "Museum",
                "description": "Museum ticket: Sasquatch \"Ballet\" 🩰",
                "logoText": "Museum",
                // A Friday, on which the museum opens at ten.
                "relevantDate": "2026-05-22T08:00:00Z",
                "expirationDate": "2026-05-22T22:00:00Z",
                "foregroundColor": "rgb(255, 255, 255)",
                "labelColor": "rgb(214, 224, 236)",
                "backgroundColor": "rgb(31, 58, 95)",
                "barcodes": [barcode],
                "barcode": barcode,
                "eventTicket": {
                    "primaryFields": field("event", "EVENT", &created["name"]),
                    "secondaryFields": field("date", "DATE", &json!("2026-05-22")),
                    "backFields": field("code", "Confirmation code", &ticket["confirmationCode"]),
                },
            })
        );
        let qr = open.ada.get(&format!("/v1.1/tickets/{}/qr", text(&ticket, "ticketId"))).send().await;
        assert_eq!(of_png(&qr.body), link);
    }

    async fn certificate_of_a_demo_survives_a_restart(store: Store) {
        let open = Open::on(store, in_a_demo()).await;
        let ticket = open.buy(&general("2026-05-20")).await.has_status(201).json();
        let certificates = certificates_of(&pass_of(&open.ada, &ticket).await);
        assert_eq!(certificates_of(&pass_of(&open.ada, &ticket).await), certificates);
        let open = open.reopen(in_a_demo()).await;
        assert_eq!(certificates_of(&pass_of(&open.ada, &ticket).await), certificates);
        // Without the demo there is no certificate.
        let open = open.reopen(Setup::default()).await;
        pass_of(&open.ada, &ticket).await.is_problem(406, "not-acceptable");
    }

    async fn pass_is_visible_only_to_the_buyer(store: Store) {
        let open = Open::on(store, in_a_demo()).await;
        let ticket = open.buy(&general("2026-05-20")).await.has_status(201).json();
        let detail = pass_of(&open.ben, &ticket).await.is_problem(404, "not-found");
        assert_eq!(detail, "This account bought no ticket with this id.");
        pass_of(&open.anyone, &ticket).await.is_problem(401, "unauthorized");
    }
}

#[test]
fn two_processes_of_a_demo_have_one_certificate() {
    testkit::run(Engine::Postgres, async |store: Store| {
        let open = Open::on(store, in_a_demo()).await;
        let other = open.another_process().await;
        let ticket = open.buy(&general("2026-05-20")).await.has_status(201).json();
        let there = other.client.signed_in("ada", "swordfish-1");
        let (one, two) = tokio::join!(pass_of(&open.ada, &ticket), pass_of(&there, &ticket));
        assert_eq!(certificates_of(&one), certificates_of(&two));
    });
}

testkit::on_one_engine! {
    async fn accept_header_chooses_json_or_the_pass_and_json_is_the_default(store: Store) {
        let open = Open::on(store, in_a_demo()).await;
        let ticket = open.buy(&general("2026-05-20")).await.has_status(201).json();
        let path = format!("/v1.1/tickets/{}/pkpass", text(&ticket, "ticketId"));
        for (accept, media_type) in [
            ("", "application/json"),
            ("*/*", "application/json"),
            ("application/*", "application/json"),
            ("application/json", "application/json"),
            ("application/json, application/vnd.apple.pkpass", "application/json"),
            ("application/vnd.apple.pkpass, application/json;q=0.9", PKPASS),
            ("APPLICATION/VND.APPLE.PKPASS", PKPASS),
            ("application/vnd.apple.pkpass, */*;q=0.1", PKPASS),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json"),
        ] {
            for method in [Method::GET, Method::HEAD] {
                let answer = open.ada.call(method, &path).header("accept", accept).send().await;
                assert_eq!((answer.status, answer.header("content-type")), (200, media_type), "{accept}");
                assert!(answer.header("vary").contains("accept"), "{accept}");
            }
        }
        let answer = open.ada.get(&path).header("accept", "image/png").send().await;
        let said = "This operation answers as application/json or application/vnd.apple.pkpass only.";
        assert_eq!(answer.is_problem(406, "not-acceptable"), said);
    }

    async fn museum_without_a_certificate_offers_no_pass(open: Open) {
        let ticket = open.buy(&general("2026-05-20")).await.has_status(201).json();
        let said = "This operation answers as application/json only.";
        assert_eq!(pass_of(&open.ada, &ticket).await.is_problem(406, "not-acceptable"), said);
        let path = format!("/v1.1/tickets/{}/pkpass", text(&ticket, "ticketId"));
        let either = format!("{PKPASS}, */*;q=0.1");
        let answer = open.ada.get(&path).header("accept", &either).send().await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    }

    async fn pass_is_signed_with_the_certificate_of_the_settings(store: Store) {
        let folder = authority();
        let mut setup = Setup::default();
        setup.settings.wallet = wallet_in(folder.path());
        setup.settings.address = "https://museum.example.com".into();
        let open = Open::on(store, setup).await;
        let ticket = open.buy(&general("2026-05-20")).await.has_status(201).json();
        let files = files_of(&pass_of(&open.ada, &ticket).await);
        is_signed(&files, &folder.path().join("root.pem"));
        let pass: Value = serde_json::from_slice(&files["pass.json"]).unwrap();
        assert_eq!(pass["passTypeIdentifier"], "pass.com.example.museum");
        assert_eq!(pass["teamIdentifier"], "A1B2C3D4E5");
        assert_eq!(pass["barcodes"][0]["message"], format!("https://museum.example.com{}", link_of(&ticket)));
        // A key in the older format of OpenSSL is the same key.
        openssl(folder.path(), "rsa -traditional -in key.pem -out old.pem");
        let mut setup = in_a_demo();
        setup.settings.wallet = wallet_in(folder.path());
        setup.settings.wallet.key_file = folder.path().join("old.pem").display().to_string();
        let open = open.reopen(setup).await;
        is_signed(&files_of(&pass_of(&open.ada, &ticket).await), &folder.path().join("root.pem"));
    }

    async fn invalid_files_of_the_wallet_stop_the_start(store: Store) {
        let folder = authority();
        let file = |name: &str| folder.path().join(name).display().to_string();
        fs::write(folder.path().join("empty.pem"), "").unwrap();
        fs::write(folder.path().join("two.pem"), fs::read_to_string(file("certificate.pem")).unwrap().repeat(2)).unwrap();
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        fs::write(folder.path().join("broken.pem"), broken).unwrap();
        openssl(folder.path(), "ecparam -name prime256v1 -genkey -noout -out ec.pem");
        type Change = fn(&mut WalletSettings, String);
        let cases: [(Change, &str, &str); 7] = [
            (|wallet, file| wallet.certificate_file = file, "missing.pem", "certificate_file is"),
            (|wallet, file| wallet.certificate_file = file, "empty.pem", "certificate_file is"),
            (|wallet, file| wallet.certificate_file = file, "broken.pem", "certificate_file is"),
            (|wallet, file| wallet.certificate_file = file, "two.pem", "certificate_file must have one certificate, not 2"),
            (|wallet, file| wallet.intermediate_file = file, "key.pem", "intermediate_file is"),
            (|wallet, file| wallet.key_file = file, "ec.pem", "key_file is"),
            (|wallet, file| wallet.key_file = file, "root.key", "key_file is not the key of wallet.certificate_file"),
        ];
        for (change, name, said) in cases {
            let mut settings = Settings { wallet: wallet_in(folder.path()), ..Settings::default() };
            change(&mut settings.wallet, file(name));
            let error = Open::try_on(&store, &settings).await.unwrap_err();
            assert!(error.starts_with(&format!("museum.wallet.{said}")), "{name}: {error}");
        }
    }
}

#[test]
fn wallet_with_only_some_settings_is_rejected() {
    let all = wallet_in(Path::new("/nowhere"));
    let check = |wallet: WalletSettings| Settings { wallet, ..Settings::default() }.check();
    assert_eq!(check(all.clone()), Ok(()));
    assert_eq!(check(WalletSettings::default()), Ok(()));
    let said =
        |name: &str| Err(format!("wallet.{name} is empty, but a pass needs all settings of [museum.wallet]"));
    let empty = String::new;
    assert_eq!(check(WalletSettings { certificate_file: empty(), ..all.clone() }), said("certificate_file"));
    assert_eq!(check(WalletSettings { key_file: empty(), ..all.clone() }), said("key_file"));
    assert_eq!(
        check(WalletSettings { intermediate_file: empty(), ..all.clone() }),
        said("intermediate_file")
    );
    assert_eq!(
        check(WalletSettings { pass_type_identifier: empty(), ..all.clone() }),
        said("pass_type_identifier")
    );
    assert_eq!(check(WalletSettings { team_identifier: empty(), ..all }), said("team_identifier"));
}

/// A root, an intermediate certificate and the certificate of passes that it issued, as Apple does.
fn authority() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| openssl(folder.path(), arguments);
    fs::write(folder.path().join("ca.cnf"), "basicConstraints=critical,CA:TRUE\n").unwrap();
    run("req -x509 -newkey rsa:2048 -nodes -keyout root.key -out root.pem -subj /CN=Root -days 3650");
    run("req -newkey rsa:2048 -nodes -keyout intermediate.key -out intermediate.csr -subj /CN=Intermediate");
    run(
        "x509 -req -in intermediate.csr -CA root.pem -CAkey root.key -CAcreateserial -out intermediate.pem -days 3650 -extfile ca.cnf",
    );
    run(
        "req -newkey rsa:2048 -nodes -keyout key.pem -out certificate.csr -subj /CN=Museum/OU=A1B2C3D4E5/UID=pass.com.example.museum",
    );
    run(
        "x509 -req -in certificate.csr -CA intermediate.pem -CAkey intermediate.key -CAcreateserial -out certificate.pem -days 3650",
    );
    folder
}

fn wallet_in(folder: &Path) -> WalletSettings {
    let file = |name: &str| folder.join(name).display().to_string();
    WalletSettings {
        certificate_file: file("certificate.pem"),
        key_file: file("key.pem"),
        intermediate_file: file("intermediate.pem"),
        pass_type_identifier: "pass.com.example.museum".into(),
        team_identifier: "A1B2C3D4E5".into(),
    }
}
