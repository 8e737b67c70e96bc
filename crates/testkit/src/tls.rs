//! A real PostgreSQL that requires TLS and a password.

use std::{
    fs,
    net::{IpAddr, UdpSocket},
    os::unix::{fs::PermissionsExt, process::parent_id},
    path::PathBuf,
    sync::OnceLock,
};

use crate::{
    certificates::Authority,
    cluster::{Cluster, Owner, boot},
};

/// One per process, until the test run ends. Its certificate is for `localhost`, and for no IP address.
pub struct TlsPostgres {
    cluster: Cluster,
    /// The authority of its certificate.
    pub authority: PathBuf,
    /// Another authority.
    pub other_authority: PathBuf,
}

impl TlsPostgres {
    pub const PASSWORD: &str = "s3cret";

    pub fn get() -> &'static Self {
        static SERVER: OnceLock<TlsPostgres> = OnceLock::new();
        SERVER.get_or_init(TlsPostgres::start)
    }

    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("triptych-test-tls-{}", std::process::id()));
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("the folder of an earlier run is deleted");
        }
        fs::create_dir(&folder).expect("a folder");
        let issuer = Authority::new("authority");
        let authority = folder.join("authority.pem");
        fs::write(&authority, issuer.pem()).expect("a file");
        let other_authority = folder.join("other.pem");
        fs::write(&other_authority, Authority::new("other").pem()).expect("a file");
        let certificate = issuer.issue(&["localhost"]);
        let owner = Owner::find().expect("a user to run PostgreSQL as");
        let write = |name: &str, text: &str| {
            let file = folder.join(name);
            fs::write(&file, text).expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("for its owner only");
            owner.give(&file).expect("for the server");
            file.display().to_string()
        };
        let key = write("server.key", &certificate.key);
        let certificate = write("server.crt", &certificate.pem);
        let password = write("password", Self::PASSWORD);
        let access = write("access", "local all all trust\nhostssl all all all scram-sha-256\n");
        let cluster = boot(
            &folder,
            parent_id(),
            &["--auth=scram-sha-256", &format!("--pwfile={password}")],
            &[
                "listen_addresses=*",
                "ssl=on",
                &format!("ssl_cert_file={certificate}"),
                &format!("ssl_key_file={key}"),
                &format!("hba_file={access}"),
            ],
        );
        let cluster = cluster.expect("PostgreSQL starts with TLS");
        TlsPostgres { cluster, authority, other_authority }
    }

    /// Its URL with a host name of this machine.
    pub fn url(&self, host: &str, query: &str) -> String {
        let (password, port) = (Self::PASSWORD, self.cluster.port);
        format!("postgres://postgres:{password}@{host}:{port}/postgres?{query}")
    }
}

/// An address of this machine that is not loopback, so that it is treated like another machine.
pub fn own_address() -> IpAddr {
    // Connecting a UDP socket sends nothing; it only chooses the local address.
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.connect("192.0.2.1:9").expect("this test needs a machine with a network");
    socket.local_addr().expect("an address").ip()
}
