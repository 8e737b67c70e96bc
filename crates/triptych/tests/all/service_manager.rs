//! The program as a service of systemd.

use std::{fs, os::unix::net::UnixDatagram, process::Command, sync::mpsc, thread, time::Duration};

use testkit::Program;

use crate::{
    common::{FREE_PORTS, bare},
    docs::root,
};

/// What the program says, until the socket has no message for a minute. It is read at once: the program waits while the queue of the
/// socket is full.
fn messages(socket: UnixDatagram) -> mpsc::Receiver<String> {
    let (send, messages) = mpsc::channel();
    thread::spawn(move || {
        let mut message = [0; 256];
        while let Ok(length) = socket.recv(&mut message) {
            let text = String::from_utf8_lossy(&message[..length]).trim_end().to_owned();
            if send.send(text).is_err() {
                return;
            }
        }
    });
    messages
}

/// The first message that is not this one.
fn first_but(message: &str, messages: &mpsc::Receiver<String>) -> String {
    messages.iter().find(|found| found != message).expect("another message")
}

#[test]
fn service_manager_is_told_when_the_program_is_ready_runs_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let messages = messages(socket);
    let mut command = bare(folder.path(), FREE_PORTS);
    let program = Program::start(command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "100000"));
    // It says that it runs from the start on.
    assert_eq!(first_but("WATCHDOG=1", &messages), "READY=1");
    for _ in 0..3 {
        assert_eq!(messages.recv().unwrap(), "WATCHDOG=1");
    }
    assert!(program.terminate().success());
    assert_eq!(first_but("WATCHDOG=1", &messages), "STOPPING=1");
}

#[test]
fn unit_of_systemd_is_valid_and_restricted() {
    let folder = tempfile::tempdir().unwrap();
    let unit = fs::read_to_string(root().join("ops/triptych.service")).unwrap();
    // The program of the package and its manual page are not installed here.
    let unit = unit.replace("/usr/bin/triptych", env!("CARGO_BIN_EXE_triptych"));
    let unit = unit.replace("Documentation=man:triptych(1)\n", "");
    let path = folder.path().join("triptych.service");
    fs::write(&path, unit).unwrap();
    let analyze = |arguments: &[&str]| {
        let output = Command::new("systemd-analyze").args(arguments).arg(&path).output();
        let output = output.expect("systemd-analyze, which tools/install installs");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
        String::from_utf8(said).unwrap()
    };
    assert_eq!(analyze(&["verify"]), "");
    // Of 100, where 0 is the best: a service without restrictions has 96.
    analyze(&["security", "--offline=true", "--threshold=15", "--no-pager"]);
}
