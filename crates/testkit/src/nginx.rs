//! A real nginx that runs a recipe without the rights of root.

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{certificates::Certificate, cluster::Owner, process::system_program};

/// It stops when this is dropped.
pub struct Nginx {
    process: Child,
    folder: tempfile::TempDir,
}

impl Nginx {
    /// Starts it with a file for its `http` section, and waits until it listens. The file finds the certificate as
    /// `certificate.pem` and `key.pem`.
    pub fn start(recipe: &str, certificate: &Certificate, listens: SocketAddr) -> Self {
        let owner = Owner::find().expect("a user to run nginx as");
        let folder = tempfile::tempdir().expect("a temporary folder");
        owner.give(folder.path()).expect("a folder for nginx");
        let settings = "daemon off;\npid nginx.pid;\nworker_processes 2;\nerror_log error.log;\nevents {}\nhttp {\n\
            access_log off;\nclient_body_temp_path body;\nproxy_temp_path proxy;\nfastcgi_temp_path fastcgi;\n\
            uwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\ninclude recipe.conf;\n}\n";
        for (name, text) in [
            ("nginx.conf", settings),
            ("recipe.conf", recipe),
            ("certificate.pem", &certificate.pem),
            ("key.pem", &certificate.key),
        ] {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        let process = owner
            .command(&system_program("nginx"), folder.path())
            .args(["-e", "error.log", "-c", "nginx.conf", "-p"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        let mut nginx = Nginx { process, folder };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(listens).is_err() {
            let ended = nginx.process.try_wait().expect("its state");
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "nginx does not listen: {}",
                nginx.errors()
            );
            thread::yield_now();
        }
        nginx
    }

    /// Its log of errors.
    pub fn errors(&self) -> String {
        fs::read_to_string(self.folder.path().join("error.log")).unwrap_or_default()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers end with it after this signal, and not after SIGKILL.
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}
