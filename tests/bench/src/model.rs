//! A model's server that streams chat completions at a set pace. Each delta carries the time at which it was
//! written, so that what lies between model and editor can be measured.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

/// How an answer is streamed.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) deltas: usize,
    /// Between two deltas; zero: as fast as the socket takes them.
    pub(crate) pause: Duration,
}

/// What one request is answered with.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    /// Text.
    Text(Pace),
    /// A text without times in it.
    Say(&'static str),
    /// One call of a tool: its name and its arguments as JSON.
    Call(&'static str, &'static str),
}

/// A running server. It ends with the process.
pub(crate) struct Model {
    pub(crate) url: String,
    /// The moment that delta times count from.
    pub(crate) epoch: Instant,
    /// When the last byte of each answer was written.
    written: Arc<Mutex<Vec<Instant>>>,
}

impl Model {
    /// Serves these answers, one to a request; further requests get the last one.
    pub(crate) fn start(answers: Vec<Answer>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let epoch = Instant::now();
        let written: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let whole = Arc::clone(&written);
        std::thread::spawn(move || {
            let mut answers = answers.into_iter();
            let mut last = None;
            for stream in listener.incoming().flatten() {
                let next = answers.next().or(last);
                last = next;
                // A client that goes away in mid-answer is what some scenarios are about.
                let _ = next.map(|answer| serve(&stream, answer, epoch, &whole));
            }
        });
        Ok(Self { url, epoch, written })
    }

    /// When the last byte of each answer was written, in the order of the requests.
    pub(crate) fn written(&self) -> Vec<Instant> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(
    stream: &TcpStream,
    answer: Answer,
    epoch: Instant,
    written: &Mutex<Vec<Instant>>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    read_request(stream)?;
    let mut out = BufWriter::new(stream);
    write!(out, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    let reason = match answer {
        Answer::Text(pace) => {
            deltas(&mut out, pace, epoch)?;
            "stop"
        }
        Answer::Say(text) => {
            let delta = json!({ "index": 0, "delta": { "content": text } });
            write!(out, "data: {}\n\n", json!({ "choices": [delta] }))?;
            "stop"
        }
        Answer::Call(name, arguments) => {
            let function = json!({ "name": name, "arguments": arguments });
            let call =
                json!({ "index": 0, "id": "call", "type": "function", "function": function });
            let delta = json!({ "index": 0, "delta": { "tool_calls": [call] } });
            write!(out, "data: {}\n\n", json!({ "choices": [delta] }))?;
            "tool_calls"
        }
    };
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    write!(out, "data: {end}\n\ndata: [DONE]\n\n")?;
    // Before they go: whoever reads them may look at once.
    written.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
    out.flush()
}

fn deltas(out: &mut BufWriter<&TcpStream>, pace: Pace, epoch: Instant) -> std::io::Result<()> {
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
    Ok(())
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
