//! A TCP proxy that fails on demand: it closes connections at once, or keeps them open and drops all data.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

/// What becomes of connections from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Forward,
    /// They are taken, and nothing is passed on, ever.
    Swallow,
    /// They are closed at once.
    Refuse,
}

/// Forwards connections to a server on this machine.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    attempts: Receiver<()>,
}

struct State {
    server: SocketAddr,
    mode: Mutex<Mode>,
    /// One for each connection, with the port that the server sees: whether it is passed on.
    passed_on: Mutex<Vec<(u16, Arc<AtomicBool>)>>,
    ended: AtomicBool,
}

impl Proxy {
    /// Closes all connections until it is told to forward them.
    pub fn refusing(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let state = State {
            server,
            mode: Mutex::new(Mode::Refuse),
            passed_on: Mutex::default(),
            ended: AtomicBool::new(false),
        };
        let state = Arc::new(state);
        let (attempt, attempts) = mpsc::channel();
        thread::spawn({
            let state = Arc::clone(&state);
            move || accept(&listener, &state, &attempt)
        });
        Proxy { address, state, attempts }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the next connection.
    pub fn wait_for_attempt(&self) {
        self.attempts.recv().expect("the proxy runs");
    }

    /// New connections lead to the server. Those that were cut off stay so.
    pub fn forward(&self) {
        *self.state.mode.lock().expect("no panic") = Mode::Forward;
    }

    /// From now on nothing gets through, on connections old and new, and none is closed.
    pub fn swallow(&self) {
        *self.state.mode.lock().expect("no panic") = Mode::Swallow;
        for (_, passed_on) in self.state.passed_on.lock().expect("no panic").iter() {
            passed_on.store(false, Ordering::SeqCst);
        }
    }

    /// From now on nothing gets through on the connection that comes to the server from this port.
    pub fn swallow_from(&self, port: u16) {
        let passed_on = self.state.passed_on.lock().expect("no panic");
        let (_, passed_on) =
            passed_on.iter().find(|(from, _)| *from == port).expect("a connection from there");
        passed_on.store(false, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, state: &State, attempt: &Sender<()>) {
    for client in listener.incoming().map_while(Result::ok) {
        if state.ended.load(Ordering::SeqCst) {
            return;
        }
        let _ = attempt.send(());
        let mode = *state.mode.lock().expect("no panic");
        if mode == Mode::Refuse {
            continue;
        }
        let server = TcpStream::connect(state.server).expect("the server takes connections");
        let passed_on = Arc::new(AtomicBool::new(mode == Mode::Forward));
        let port = server.local_addr().expect("its address").port();
        state.passed_on.lock().expect("no panic").push((port, Arc::clone(&passed_on)));
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (from, to) = (from.try_clone().expect("a handle"), to.try_clone().expect("a handle"));
            let passed_on = Arc::clone(&passed_on);
            thread::spawn(move || pass_on(from, to, &passed_on));
        }
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, passed_on: &AtomicBool) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if passed_on.load(Ordering::SeqCst) && to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // A connection whose data is dropped does not pass on a close either.
    if passed_on.load(Ordering::SeqCst) {
        let _ = to.shutdown(Shutdown::Both);
    }
}
