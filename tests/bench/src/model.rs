//! A model's server that streams chat completions at a set pace. Each delta carries the time at which it was
//! written, so that what lies between model and editor can be measured.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How an answer is streamed.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) deltas: usize,
    /// Between two deltas; zero: as fast as the socket takes them.
    pub(crate) pause: Duration,
}

/// A running server. It ends with the process.
pub(crate) struct Model {
    pub(crate) url: String,
    /// The moment that delta times count from.
    pub(crate) epoch: Instant,
}

impl Model {
    /// Serves answers in the order of `paces`, one to a request; further requests get the last one.
    pub(crate) fn start(paces: Vec<Pace>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let epoch = Instant::now();
        std::thread::spawn(move || {
            let mut paces = paces.into_iter();
            let mut last = None;
            for stream in listener.incoming().flatten() {
                let next = paces.next().or(last);
                last = next;
                // A client that goes away in mid-answer is what some scenarios are about.
                let _ = next.map(|pace| serve(&stream, pace, epoch));
            }
        });
        Ok(Self { url, epoch })
    }
}

fn serve(stream: &TcpStream, pace: Pace, epoch: Instant) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    read_request(stream)?;
    let mut out = std::io::BufWriter::new(stream);
    write!(out, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    let started = Instant::now();
    for number in 0..pace.deltas {
        if !pace.pause.is_zero() {
            let due = started + pace.pause * u32::try_from(number).unwrap_or(u32::MAX);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let sent = epoch.elapsed().as_nanos();
        write!(
            out,
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{sent:>19} \"}}}}]}}\n\n"
        )?;
        if !pace.pause.is_zero() {
            out.flush()?;
        }
    }
    write!(
        out,
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
    )?;
    out.flush()
}

/// Reads a request to the end of its body.
fn read_request(stream: &TcpStream) -> std::io::Result<()> {
    let mut input = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        input.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    std::io::copy(&mut input.take(length), &mut std::io::sink())?;
    Ok(())
}
