//! Figures of one process: memory, the time until it is ready, and a list of a million pets.

use std::{
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::{program::Program, report::Line};

const MB: f64 = 1e6;

/// Starts the program on existing data and measures it before its first request.
pub(crate) fn later_start(folder: &Path, flags: &[&str]) -> Duration {
    let program = Program::start(folder, flags);
    let ready_after = program.ready_after;
    program.stop();
    ready_after
}

/// The memory of a program ten seconds after its first start.
pub(crate) fn memory_after_start(folder: &Path, after: Duration) -> Line {
    let folder = folder.join("memory");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = Program::start(&folder, &["--data", &folder.join("data").display().to_string()]);
    pause(after);
    let line = Line::at_most(
        "memory 10 s after the first start",
        program.resident() as f64 / MB,
        " MB",
        (40.0, 20.0),
    );
    program.stop();
    line
}

/// Reads all pets of a status, a third of the data set's: by how much the process grows, and when the first byte arrives.
pub(crate) fn stream(program: &Program, token: &str, pets: u64) -> [Line; 2] {
    let request = format!(
        "GET /v3/pet/findByStatus?status=available&status=pending&status=sold HTTP/1.1\r\nhost: localhost\r\n\
         authorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    let (before, done) = (program.resident(), AtomicBool::new(false));
    let (first_byte, read, peak) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut peak = before;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(program.resident());
                pause(Duration::from_millis(5));
            }
            peak
        });
        let mut stream = TcpStream::connect(program.petstore).expect("a connection");
        let start = Instant::now();
        stream.write_all(request.as_bytes()).expect("the request is sent");
        let mut buffer = vec![0; 256 * 1024];
        let mut first_byte = None;
        let mut found = 0;
        loop {
            let length = stream.read(&mut buffer).expect("the answer");
            first_byte.get_or_insert_with(|| start.elapsed());
            if length == 0 {
                break;
            }
            found += buffer[..length].iter().filter(|byte| **byte == b'[').count() as u64;
        }
        done.store(true, Ordering::Relaxed);
        (first_byte.unwrap_or_default(), found, watch.join().expect("the watcher"))
    });
    // Each pet has two lists.
    assert!(read >= pets * 2, "only {} of {pets} pets were read", read / 2);
    let growth = (peak - before) as f64 / MB;
    [
        Line::at_most("findByStatus over 1,000,000 pets: growth of memory", growth, " MB", (32.0, 8.0)),
        Line::at_most(
            "findByStatus over 1,000,000 pets: first byte",
            first_byte.as_secs_f64() * 1e3,
            " ms",
            (20.0, 5.0),
        ),
    ]
}

#[expect(clippy::disallowed_methods, reason = "a measurement at a given time")]
fn pause(time: Duration) {
    thread::sleep(time);
}
