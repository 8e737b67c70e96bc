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

/// How connections are handled from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Forward,
    /// They are accepted, and all data is dropped.
    Drop,
    /// They are closed at once.
    Close,
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
    /// For each connection, the port that the server sees and whether data is forwarded.
    forwards: Mutex<Vec<(u16, Arc<AtomicBool>)>>,
    ended: AtomicBool,
}

impl Proxy {
    /// Starts it in the mode that closes all connections.
    pub fn refusing(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let state = State {
            server,
            mode: Mutex::new(Mode::Close),
            forwards: Mutex::default(),
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

    /// Forwards new connections. Earlier ones stay as they are.
    pub fn forward(&self) {
        *self.state.mode.lock().expect("no panic") = Mode::Forward;
    }

    /// Drops the data of all connections from now on, and closes none.
    pub fn swallow(&self) {
        *self.state.mode.lock().expect("no panic") = Mode::Drop;
        for (_, forwards) in self.state.forwards.lock().expect("no panic").iter() {
            forwards.store(false, Ordering::SeqCst);
        }
    }

    /// Drops the data of the connection that the server sees at this port.
    pub fn swallow_from(&self, port: u16) {
        let forwards = self.state.forwards.lock().expect("no panic");
        let (_, forwards) = forwards.iter().find(|(from, _)| *from == port).expect("a connection from there");
        forwards.store(false, Ordering::SeqCst);
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
        if mode == Mode::Close {
            continue;
        }
        let server = TcpStream::connect(state.server).expect("the server takes connections");
        let forwards = Arc::new(AtomicBool::new(mode == Mode::Forward));
        let port = server.local_addr().expect("its address").port();
        state.forwards.lock().expect("no panic").push((port, Arc::clone(&forwards)));
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (from, to) = (from.try_clone().expect("a handle"), to.try_clone().expect("a handle"));
            let forwards = Arc::clone(&forwards);
            thread::spawn(move || pass_on(from, to, &forwards));
        }
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, forwards: &AtomicBool) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if forwards.load(Ordering::SeqCst) && to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // If data is dropped, a close is not forwarded either.
    if forwards.load(Ordering::SeqCst) {
        let _ = to.shutdown(Shutdown::Both);
    }
}
