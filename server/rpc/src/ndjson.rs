//! The door for scripts: one compact JSON object to a line.

use std::sync::Arc;
use std::time::Duration;

use dsh_protocol::MAX_FRAME_BYTES;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite};

use crate::connection::{Connection, Exit};
use crate::outbox::Outbox;

/// How long the last frames may take to leave when the process ends.
const LAST_FRAMES: Duration = Duration::from_secs(5);

/// Serves the client that started this process until it says `exit`, its input ends or its process is gone.
/// Everything that it asked is answered, every session has ended and what was said is sent when this returns.
pub async fn serve_process<R, W>(connection: &Arc<Connection>, input: R, output: W) -> Option<Exit>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let writing = tokio::spawn(Outbox::write(Arc::clone(connection.outbox()), output, frame_line));
    let exit = tokio::select! {
        exit = read(connection, input) => exit,
        () = connection.client_gone().cancelled() => Some(Exit::Abrupt),
    };
    if exit.is_none() {
        connection.drain().await;
    }
    let ended = connection.end_sessions().await;
    connection.close();
    if tokio::time::timeout(LAST_FRAMES, writing).await.is_err() {
        tracing::warn!("the client did not read the last frames");
    }
    match ended {
        Ok(()) => exit,
        Err(unwritten) => {
            tracing::error!("{unwritten}");
            Some(Exit::Abrupt)
        }
    }
}

async fn read<R: AsyncBufRead + Unpin>(connection: &Arc<Connection>, mut input: R) -> Option<Exit> {
    let mut line = Vec::new();
    loop {
        match next_line(&mut input, &mut line).await {
            Ok(Line::Whole) => {
                let frame = line.trim_ascii();
                if !frame.is_empty() {
                    connection.receive(frame).await;
                }
                if let Some(exit) = connection.exit() {
                    return Some(exit);
                }
            }
            Ok(Line::TooLong) => connection.refuse_large_frame(),
            Ok(Line::End) => return None,
            Err(error) => {
                tracing::warn!(%error, "the input broke off");
                return None;
            }
        }
    }
}

enum Line {
    Whole,
    /// It was longer than a frame may be and was skipped.
    TooLong,
    End,
}

/// Reads a line without its end. A last line without an end counts. Never holds more than a frame.
async fn next_line<R: AsyncBufRead + Unpin>(
    input: &mut R,
    line: &mut Vec<u8>,
) -> std::io::Result<Line> {
    line.clear();
    let mut too_long = false;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(match (too_long, line.is_empty()) {
                (true, _) => Line::TooLong,
                (false, true) => Line::End,
                (false, false) => Line::Whole,
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = end.unwrap_or(available.len());
        too_long |= line.len() + part > MAX_FRAME_BYTES;
        if too_long {
            line.clear();
            line.shrink_to_fit();
        } else {
            line.extend_from_slice(&available[..part]);
        }
        input.consume(end.map_or(part, |end| end + 1));
        if end.is_some() {
            return Ok(if too_long { Line::TooLong } else { Line::Whole });
        }
    }
}

/// Puts a line end behind a frame.
fn frame_line(frame: &[u8], output: &mut Vec<u8>) {
    output.extend_from_slice(frame);
    output.push(b'\n');
}
