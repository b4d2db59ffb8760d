//! The floor of the benchmark: relays a model's stream as frames and does nothing else. What the product
//! takes beyond this is its own.

use std::io::{BufRead, BufReader, BufWriter, Write, stdin, stdout};
use std::net::TcpStream;

fn main() -> std::io::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_default();
    let address = url.trim_start_matches("http://").to_owned();
    let mut out = BufWriter::new(stdout().lock());
    for line in stdin().lock().lines() {
        let line = line?;
        let id = line
            .split_once("\"id\":")
            .and_then(|(_, rest)| rest.split([',', '}']).next())
            .unwrap_or("0");
        if line.contains("session/prompt") {
            relay(&address, &mut out)?;
        } else {
            writeln!(out, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")?;
        }
        out.flush()?;
    }
    Ok(())
}

fn relay(address: &str, out: &mut impl Write) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"POST /chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")?;
    let mut input = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            break;
        }
        let Some((_, text)) = line.split_once("\"content\":\"") else { continue };
        let text = text.split('"').next().unwrap_or_default();
        writeln!(
            out,
            "{{\"jsonrpc\":\"2.0\",\"method\":\"session/event\",\"params\":{{\"event\":{{\"type\":\"assistant/chunk\",\"data\":{{\"chunk\":{{\"type\":\"text-delta\",\"index\":0,\"text\":\"{text}\"}}}}}}}}}}"
        )?;
        // What follows in the buffer may be no more than the blank line behind this event.
        if !input.buffer().contains(&b'd') {
            out.flush()?;
        }
    }
    writeln!(
        out,
        "{{\"jsonrpc\":\"2.0\",\"method\":\"session/event\",\"params\":{{\"event\":{{\"type\":\"turn/end\"}}}}}}"
    )
}
