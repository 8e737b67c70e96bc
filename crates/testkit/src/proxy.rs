//! A TCP proxy that fails on demand: it closes connections, keeps them open and drops all data, or forwards data late and slowly.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
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
    connections: Mutex<Vec<Connection>>,
    slowness: Mutex<Option<Slowness>>,
    ended: AtomicBool,
}

struct Connection {
    client: TcpStream,
    server: TcpStream,
    /// Whether data is forwarded.
    forwards: Arc<AtomicBool>,
}

/// How late and how slowly data is forwarded, in each direction.
#[derive(Debug, Clone, Copy)]
struct Slowness {
    latency: Duration,
    bytes_per_second: u32,
}

impl Proxy {
    /// Starts it in the mode that forwards connections.
    pub fn forwarding(server: SocketAddr) -> Self {
        let proxy = Proxy::refusing(server);
        proxy.forward();
        proxy
    }

    /// Starts it in the mode that closes all connections.
    pub fn refusing(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let state = State {
            server,
            mode: Mutex::new(Mode::Close),
            connections: Mutex::default(),
            slowness: Mutex::default(),
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
        self.attempts.recv_timeout(Duration::from_secs(60)).expect("a connection within a minute");
    }

    /// Forwards new connections. Earlier ones stay as they are.
    pub fn forward(&self) {
        *self.state.mode.lock().expect("no panic") = Mode::Forward;
    }

    /// Drops the data of all connections from now on, and closes none.
    pub fn swallow(&self) {
        *self.state.mode.lock().expect("no panic") = Mode::Drop;
        for connection in self.state.connections.lock().expect("no panic").iter() {
            connection.forwards.store(false, Ordering::SeqCst);
        }
    }

    /// Drops the data of the connection that the server sees at this port.
    pub fn swallow_from(&self, port: u16) {
        let connections = self.state.connections.lock().expect("no panic");
        let is_from = |one: &&Connection| one.server.local_addr().is_ok_and(|address| address.port() == port);
        let connection = connections.iter().find(is_from).expect("a connection from there");
        connection.forwards.store(false, Ordering::SeqCst);
    }

    /// Closes all connections, also new ones.
    pub fn cut(&self) {
        *self.state.mode.lock().expect("no panic") = Mode::Close;
        for connection in self.state.connections.lock().expect("no panic").drain(..) {
            let _ = connection.client.shutdown(Shutdown::Both);
            let _ = connection.server.shutdown(Shutdown::Both);
        }
    }

    /// Forwards the data of all connections later from now on, and at this rate.
    pub fn slow_down(&self, latency: Duration, bytes_per_second: u32) {
        *self.state.slowness.lock().expect("no panic") = Some(Slowness { latency, bytes_per_second });
    }

    /// Forwards data at once again.
    pub fn speed_up(&self) {
        *self.state.slowness.lock().expect("no panic") = None;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>, attempt: &Sender<()>) {
    for client in listener.incoming().map_while(Result::ok) {
        if state.ended.load(Ordering::SeqCst) {
            return;
        }
        let _ = attempt.send(());
        let mode = *state.mode.lock().expect("no panic");
        if mode == Mode::Close {
            continue;
        }
        // The server may be stopped. Then the connection is closed.
        let Ok(server) = TcpStream::connect(state.server) else { continue };
        let forwards = Arc::new(AtomicBool::new(mode == Mode::Forward));
        let handle = |stream: &TcpStream| stream.try_clone().expect("a handle");
        let directions = [(handle(&client), handle(&server)), (handle(&server), handle(&client))];
        let connection = Connection { client, server, forwards: Arc::clone(&forwards) };
        // Before the first byte is forwarded: the test that sees it may ask for the connection.
        state.connections.lock().expect("no panic").push(connection);
        for (from, to) in directions {
            let (forwards, state) = (Arc::clone(&forwards), Arc::clone(state));
            thread::spawn(move || pass_on(from, to, &forwards, &state));
        }
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, forwards: &AtomicBool, state: &State) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let slowness = *state.slowness.lock().expect("no panic");
        if let Some(Slowness { latency, bytes_per_second }) = slowness {
            #[expect(clippy::disallowed_methods, reason = "the network takes this time")]
            thread::sleep(latency + Duration::from_secs_f64(read as f64 / f64::from(bytes_per_second)));
        }
        if forwards.load(Ordering::SeqCst) && to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // If data is dropped, a close is not forwarded either.
    if forwards.load(Ordering::SeqCst) {
        let _ = to.shutdown(Shutdown::Both);
    }
}
