//! TLS of the services: versions, protocols, new certificates while they run, and settings that cannot be used.

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
};

use crate::common::{FREE_PORTS, Workspace, bare, output_of, refused, soon};
use rustls::{
    ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
    version::{TLS12, TLS13},
};
use serde_json::{Value, json};
use testkit::{Authority, Certificate, Client, Program};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// The files of a certificate for 127.0.0.1.
struct Files {
    folder: PathBuf,
    authority: Authority,
}

impl Files {
    fn new(folder: &Path) -> Self {
        let files = Files { folder: folder.to_owned(), authority: Authority::new("triptych") };
        files.replace(&files.issue());
        fs::write(folder.join("authority.pem"), files.authority.pem()).unwrap();
        files
    }

    fn issue(&self) -> Certificate {
        self.authority.issue(&["127.0.0.1"])
    }

    fn replace(&self, Certificate { pem, key }: &Certificate) {
        self.write("key.pem", key);
        self.write("certificate.pem", pem);
    }

    /// Replaces a file as a whole.
    fn write(&self, name: &str, text: &str) {
        let new = self.folder.join("new");
        fs::write(&new, text).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(new, self.folder.join(name)).unwrap();
    }

    async fn connect(
        &self,
        address: SocketAddr,
        versions: &[&'static SupportedProtocolVersion],
        protocols: &[&str],
    ) -> Connection {
        let mut roots = RootCertStore::empty();
        roots.add(der(self.authority.pem())).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_protocol_versions(versions).unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::from(address.ip());
        Connection(TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap())
    }
}

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

struct Connection(TlsStream<TcpStream>);

impl Connection {
    /// Asserts that the service answers, on this connection.
    async fn is_answered(&mut self) {
        let request = "GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
        self.0.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        while !answer.ends_with("ok\n") {
            let mut part = [0; 1024];
            let length = self.0.read(&mut part).await.unwrap();
            assert_ne!(length, 0, "{answer}");
            answer.push_str(std::str::from_utf8(&part[..length]).unwrap());
        }
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }

    fn version(&self) -> ProtocolVersion {
        self.0.get_ref().1.protocol_version().unwrap()
    }

    fn protocol(&self) -> Option<&[u8]> {
        self.0.get_ref().1.alpn_protocol()
    }

    fn has(&self, certificate: &Certificate) -> bool {
        self.0.get_ref().1.peer_certificates().unwrap()[0] == der(&certificate.pem)
    }
}

fn serving(workspace: &Workspace) -> Command {
    let mut command = workspace.serving();
    command.env("TRIPTYCH_TLS_CERTIFICATE", "certificate.pem").env("TRIPTYCH_TLS_KEY", "key.pem");
    command
}

testkit::on_one_engine! {
    async fn services_speak_tls_1_2_and_1_3_with_http_1_and_2(workspace: Workspace) {
        let files = Files::new(workspace.folder.path());
        let program = Program::start(&mut serving(&workspace));
        let address = program.address("petstore");
        for (version, name) in [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)] {
            let mut connection = files.connect(address, &[version], &[]).await;
            connection.is_answered().await;
            assert_eq!((connection.version(), connection.protocol()), (name, None));
        }
        let both = &[&TLS13, &TLS12];
        let connection = files.connect(address, both, &["http/1.1", "h2"]).await;
        assert_eq!(connection.protocol(), Some(&b"h2"[..]));
        let connection = files.connect(address, both, &["http/1.1"]).await;
        assert_eq!(connection.protocol(), Some(&b"http/1.1"[..]));

        let curl = |arguments: &[&str]| {
            let mut curl = Command::new("curl");
            curl.current_dir(&files.folder).args(["-sS", "--noproxy", "*", "--cacert", "authority.pem"]);
            curl.args(arguments).output().unwrap()
        };
        let printed = |output: Output| String::from_utf8(output.stdout).unwrap();
        let health = format!("https://{address}/healthz");
        assert_eq!(printed(curl(&["--http2", "-w", "%{http_version}", &health])), "ok\n2");
        let old = curl(&["--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0", &health]);
        assert_eq!(old.status.code(), Some(35));

        // Links have the scheme, and browsers send the cookie of the session over TLS only.
        let metadata = printed(curl(&[&format!("https://{address}/.well-known/oauth-authorization-server")]));
        let metadata: Value = serde_json::from_str(&metadata).unwrap();
        assert_eq!(metadata["issuer"], format!("https://{address}"));
        assert!(program.said().contains(&format!(" https://{address}/docs ")), "{}", program.said());
        let login = format!("https://{address}/v3/user/login?username=demo&password=demo");
        let login = printed(curl(&["-i", &login]));
        let cookie = login.lines().find(|line| line.starts_with("set-cookie: ")).expect(&login);
        assert!(cookie.contains("; Secure"), "{cookie}");

        // The admin listener has no TLS.
        let admin = program.address("admin");
        Client::new(admin).get("/healthz").send().await.has_status(200);
        let mut ready = workspace.command(&["ready", "petstore", "--json"]);
        ready.arg(format!("--petstore-listen={address}")).arg(format!("--admin-listen={admin}"));
        ready.env("TRIPTYCH_TLS_CERTIFICATE", "certificate.pem").env("TRIPTYCH_TLS_KEY", "key.pem");
        let ready: Value = serde_json::from_str(&output_of(&mut ready)).unwrap();
        let part = |name: &str, address: String| json!({"name": name, "address": address, "ok": true, "detail": "ready"});
        let parts = [part("petstore", format!("https://{address}")), part("admin", format!("http://{admin}"))];
        assert_eq!(ready, json!({"ok": true, "parts": parts}));
    }

    async fn client_without_tls_is_disconnected(workspace: Workspace) {
        Files::new(workspace.folder.path());
        let program = Program::start(serving(&workspace).env("TRIPTYCH_LIMITS_HEADER_SECONDS", "1"));
        let client = Client::new(program.address("museum"));
        let answer = soon(client.raw(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
        assert!(!answer.contains("HTTP"), "{answer}");
        // The handshake has the time that the head of a request has.
        assert_eq!(soon(client.raw(b"")).await, "");
        let log = program.whole_log();
        let failed: Vec<_> = log.lines().filter(|line| line.contains("the TLS handshake failed")).collect();
        assert_eq!(failed.len(), 1, "{log}");
        assert!(failed[0].contains("\"service\":\"museum\""), "{failed:?}");
    }

    async fn new_certificate_is_used_without_a_restart(workspace: Workspace) {
        let files = Files::new(workspace.folder.path());
        let first = files.issue();
        files.replace(&first);
        let program = Program::start(serving(&workspace).env("TRIPTYCH_LIMITS_HEADER_SECONDS", "120"));
        let address = program.address("train");
        let connect = async || files.connect(address, &[&TLS13], &[]).await;
        let mut old = connect().await;
        old.is_answered().await;
        assert!(old.has(&first));

        let second = files.issue();
        files.replace(&second);
        testkit::until(async || connect().await.has(&second)).await;
        old.is_answered().await;

        // Files that cannot be used change nothing.
        files.write("certificate.pem", "broken");
        let warning = "the new TLS certificate cannot be used; the old one stays";
        testkit::until(async || {
            assert!(connect().await.has(&second));
            program.logged().contains(warning)
        })
        .await;
        connect().await.is_answered().await;
        let third = files.issue();
        files.replace(&third);
        testkit::until(async || connect().await.has(&third)).await;
        old.is_answered().await;
        let log = program.whole_log();
        let why = "tls_certificate is \\\"certificate.pem\\\", which is not a certificate in PEM: it has none";
        assert!(log.lines().any(|line| line.contains(warning) && line.contains(why)), "{log}");
    }
}

#[test]
fn files_that_cannot_be_used_stop_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::new(folder.path());
    let serve = |certificate: &str, key: &str| {
        let mut command = bare(folder.path(), &["serve", "--data", "data"]);
        command.args(FREE_PORTS);
        command.env("TRIPTYCH_TLS_CERTIFICATE", certificate).env("TRIPTYCH_TLS_KEY", key);
        command
    };
    let message = |certificate: &str, key: &str| refused(&serve(certificate, key).output().unwrap());
    let together = "triptych: tls_certificate and tls_key belong together; set both or none";
    assert_eq!(message("certificate.pem", ""), together);
    assert_eq!(message("", "key.pem"), together);
    assert_eq!(
        message("none.pem", "key.pem"),
        "triptych: tls_certificate is \"none.pem\", which cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(
        message("certificate.pem", "none.pem"),
        "triptych: tls_key is \"none.pem\", which cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(
        message("key.pem", "key.pem"),
        "triptych: tls_certificate is \"key.pem\", which is not a certificate in PEM: it has none"
    );
    files.write("empty.pem", "");
    assert_eq!(
        message("certificate.pem", "empty.pem"),
        "triptych: tls_key is \"empty.pem\", which is not a key in PEM without a passphrase: no items found"
    );
    files.write("other.pem", &files.issue().key);
    assert_eq!(
        message("certificate.pem", "other.pem"),
        "triptych: tls_key is \"other.pem\", which is not the key of the certificate in tls_certificate, \
         \"certificate.pem\""
    );
    let readable = folder.path().join("other.pem");
    fs::set_permissions(readable, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(
        message("certificate.pem", "other.pem"),
        "triptych: other users can read or change the tls_key \"other.pem\": run chmod 600 other.pem"
    );
    let mut plain = serve("certificate.pem", "key.pem");
    let plain = plain.env("TRIPTYCH_MUSEUM_ADDRESS", "http://museum.example.com").output().unwrap();
    assert_eq!(
        refused(&plain),
        "triptych: museum.address must begin with https://, because tls_certificate is set, not \
         \"http://museum.example.com\""
    );
}
