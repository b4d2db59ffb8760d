//! One connection: one request, one answer.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::answer::{Answer, Cut, Step};
use crate::server::{Recorded, Shared};

/// How often something that the test or the other side does is looked for.
const LOOK: Duration = Duration::from_millis(2);

/// Between the last bytes and a reset, so that the other side has read what came before.
const BEFORE_RESET: Duration = Duration::from_millis(30);

pub(crate) fn serve(mut connection: TcpStream, shared: &Shared) {
    shared.opened();
    connection.set_nodelay(true).unwrap();
    if let Some(request) = read(&mut connection) {
        let answer = shared.answer_to(&request);
        play(&mut connection, &answer, shared);
    }
    drop(connection);
    shared.closed();
}

/// The request; nothing when the other side went away before it was whole.
fn read(connection: &mut TcpStream) -> Option<Recorded> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1024];
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        let count = connection.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Recorded { line, headers, body: bytes.split_off(head_end + 4) };
    let length: usize = request.header("content-length").unwrap_or("0").parse().unwrap();
    while request.body.len() < length {
        let count = connection.read(&mut piece).ok().filter(|count| *count > 0)?;
        request.body.extend_from_slice(&piece[..count]);
    }
    Some(request)
}

/// Plays the answer; stops when the other side is gone.
fn play(connection: &mut TcpStream, answer: &Answer, shared: &Shared) {
    let head = format!("{}\r\n", answer.head);
    if connection.write_all(head.as_bytes()).is_err() {
        return;
    }
    let mut cutter = Cutter::new(answer.cut);
    for step in &answer.steps {
        let goes_on = match step {
            Step::Write(bytes) => {
                cutter.cut(bytes).into_iter().all(|piece| connection.write_all(piece).is_ok())
            }
            Step::Pause => wait(connection, shared, || shared.take_release()),
            Step::Sleep(time) => {
                let end = std::time::Instant::now() + *time;
                wait(connection, shared, || std::time::Instant::now() >= end)
            }
            Step::Hold => wait(connection, shared, || false),
            Step::Reset => {
                thread::sleep(BEFORE_RESET);
                rustix::net::sockopt::set_socket_linger(&*connection, Some(Duration::ZERO))
                    .unwrap();
                false
            }
        };
        if !goes_on {
            return;
        }
    }
}

/// Waits; false when the other side closed or the server stopped before `ready`.
fn wait(connection: &mut TcpStream, shared: &Shared, mut ready: impl FnMut() -> bool) -> bool {
    connection.set_read_timeout(Some(LOOK)).unwrap();
    loop {
        if ready() {
            return true;
        }
        if shared.stopped() {
            return false;
        }
        match connection.read(&mut [0; 64]) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(_) => return false,
        }
    }
}

/// Cuts the bytes of one answer.
struct Cutter {
    cut: Cut,
    written: usize,
    state: u64,
}

impl Cutter {
    fn new(cut: Cut) -> Self {
        let state = if let Cut::Seeded(seed) = cut { seed } else { 0 };
        Self { cut, written: 0, state }
    }

    fn cut<'a>(&mut self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = match self.cut {
                Cut::EachByte => 1,
                Cut::At(at) if at > self.written => (at - self.written).min(rest.len()),
                Cut::AsWritten | Cut::At(_) => rest.len(),
                Cut::Seeded(_) => (self.random() % 24 + 1).min(rest.len()),
            };
            let (piece, after) = rest.split_at(length);
            pieces.push(piece);
            self.written += length;
            rest = after;
        }
        pieces
    }

    /// The next of a fixed sequence of numbers.
    fn random(&mut self) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.state >> 40).unwrap()
    }
}
