//! What a process says: read as it comes, and kept frame by frame.

use std::io::Read;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use dsh_protocol::notifications::Notification;
use serde_json::Value;

use crate::framing::{Framing, Splitter};

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

    /// Waits until both outputs have ended, unless nobody reads them.
    pub(crate) fn wait_for_the_end(&self, patience: Duration) {
        let open = |said: &mut Said| said.ended < 2 && !said.paused;
        drop(self.more.wait_timeout_while(self.lock(), patience, open).unwrap());
    }

    pub(crate) fn listen(&self, mut output: impl Read, framing: Framing) {
        let mut bytes = vec![0; 64 * 1024];
        let mut splitter = Splitter::new(framing);
        loop {
            let mut said = self.lock();
            while said.paused {
                said = self.more.wait(said).unwrap();
            }
            drop(said);
            let count = output.read(&mut bytes).unwrap_or(0);
            let mut said = self.lock();
            splitter.take(&bytes[..count], |frame| said.take_frame(frame, framing));
            if count == 0 {
                if !splitter.rest().is_empty() {
                    said.strange.push(String::from_utf8_lossy(splitter.rest()).into_owned());
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
    fn take_frame(&mut self, body: &[u8], framing: Framing) {
        let Ok(frame) = serde_json::from_slice::<Value>(body) else {
            self.strange.push(String::from_utf8_lossy(body).into_owned());
            return;
        };
        let has = |field: &str| frame.get(field).is_some();
        let is_answer = has("id") && has("result") != has("error") && !has("method");
        let is_notice = !has("id")
            && has("params")
            && frame["method"].as_str().is_some_and(|name| Notification::NAMES.contains(&name));
        let is_editors = framing == Framing::Lengths
            && match frame["method"].as_str() {
                Some("$/progress" | "textDocument/publishDiagnostics" | "window/showMessage") => {
                    !has("id") && has("params")
                }
                Some("window/workDoneProgress/create" | "window/showDocument") => {
                    has("id") && has("params")
                }
                Some("workspace/codeLens/refresh") => has("id") && !has("params"),
                Some(_) | None => false,
            };
        if frame["jsonrpc"] == "2.0" && (is_answer || is_notice || is_editors) {
            self.frames.push(frame);
        } else {
            self.strange.push(frame.to_string());
        }
    }
}
