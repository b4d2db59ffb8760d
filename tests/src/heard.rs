//! What a process says: read as it comes, and kept frame by frame.

use std::io::Read;
use std::sync::{Condvar, Mutex, MutexGuard};

use dsh_protocol::notifications::Notification;
use serde_json::Value;

/// What the process has said so far.
#[derive(Default)]
pub(crate) struct Heard {
    said: Mutex<Said>,
    pub(crate) more: Condvar,
}

#[derive(Default)]
pub(crate) struct Said {
    pub(crate) frames: Vec<Value>,
    /// What was on standard output and is no frame.
    pub(crate) strange: Vec<String>,
    pub(crate) complaints: String,
    /// How many of the two outputs have ended.
    pub(crate) ended: usize,
    pub(crate) paused: bool,
}

impl Heard {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap()
    }

    pub(crate) fn listen(&self, mut output: impl Read) {
        let mut bytes = vec![0; 64 * 1024];
        let mut line = Vec::new();
        loop {
            let mut said = self.lock();
            while said.paused {
                said = self.more.wait(said).unwrap();
            }
            drop(said);
            let count = output.read(&mut bytes).unwrap_or(0);
            let mut said = self.lock();
            for byte in &bytes[..count] {
                if *byte == b'\n' {
                    said.take_line(&std::mem::take(&mut line));
                } else {
                    line.push(*byte);
                }
            }
            if count == 0 {
                if !line.is_empty() {
                    said.strange.push(String::from_utf8_lossy(&line).into_owned());
                }
                said.ended += 1;
            }
            drop(said);
            self.more.notify_all();
            if count == 0 {
                return;
            }
        }
    }

    pub(crate) fn listen_to_complaints(&self, mut complaints: impl Read) {
        let mut bytes = vec![0; 4096];
        loop {
            let count = complaints.read(&mut bytes).unwrap_or(0);
            let mut said = self.lock();
            said.complaints.push_str(&String::from_utf8_lossy(&bytes[..count]));
            said.ended += usize::from(count == 0);
            drop(said);
            self.more.notify_all();
            if count == 0 {
                return;
            }
        }
    }
}

impl Said {
    /// Keeps a frame; anything else on standard output is an error of the server.
    fn take_line(&mut self, line: &[u8]) {
        let Ok(frame) = serde_json::from_slice::<Value>(line) else {
            self.strange.push(String::from_utf8_lossy(line).into_owned());
            return;
        };
        let has = |field: &str| frame.get(field).is_some();
        let is_answer = has("id") && has("result") != has("error") && !has("method");
        let is_notice = !has("id")
            && has("params")
            && frame["method"].as_str().is_some_and(|name| Notification::NAMES.contains(&name));
        if frame["jsonrpc"] == "2.0" && (is_answer || is_notice) {
            self.frames.push(frame);
        } else {
            self.strange.push(frame.to_string());
        }
    }
}
