//! A client of `dsh-ls rpc` or `dsh-ls lsp` that can do what clients do, and what they should not: write any bytes, stop
//! reading, die.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dsh_protocol::event::Event;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::framing::Framing;
use crate::heard::Heard;

/// How long anything may take before the test gives up. Far more than a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(40);

/// A running `dsh-ls` and what it has said.
pub struct Client {
    child: Child,
    framing: Framing,
    input: Option<ChildStdin>,
    heard: Arc<Heard>,
    readers: Vec<JoinHandle<()>>,
    next_id: u64,
    /// How often each id was asked, by its JSON text.
    asked: BTreeMap<String, usize>,
    /// Whether bytes were written that are no frames of this client's making.
    raw: bool,
    initialized: bool,
    /// Whether the last frame may be cut off, because nobody read it in time.
    may_be_torn: bool,
    ended: Option<ExitStatus>,
}

impl Client {
    /// Starts a process that speaks in lines.
    pub fn spawn(command: Command) -> Self {
        Self::spawn_framed(command, Framing::Lines)
    }

    /// Starts a process.
    pub fn spawn_framed(mut command: Command, framing: Framing) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let heard = Arc::new(Heard::default());
        let output = child.stdout.take().unwrap();
        let complaints = child.stderr.take().unwrap();
        let readers = vec![
            std::thread::spawn({
                let heard = Arc::clone(&heard);
                move || heard.listen(output, framing)
            }),
            std::thread::spawn({
                let heard = Arc::clone(&heard);
                move || heard.listen_to_complaints(complaints)
            }),
        ];
        Self {
            input: child.stdin.take(),
            child,
            framing,
            heard,
            readers,
            next_id: 0,
            asked: BTreeMap::new(),
            raw: false,
            initialized: false,
            may_be_torn: false,
            ended: None,
        }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Says `initialize` and `initialized`; returns the result of the first.
    pub fn initialize(&mut self) -> Value {
        self.initialize_as(json!({}))
    }

    /// Says `initialize` with some params and `initialized`; returns the result of the first.
    pub fn initialize_as(&mut self, params: Value) -> Value {
        let result = self.request("initialize", params);
        self.notify("initialized", json!({}));
        self.initialized = true;
        result
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        self.raw = true;
        self.write_now(bytes).unwrap();
    }

    fn write_now(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let input = self.input.as_mut().expect("the input is closed");
        input.write_all(bytes)?;
        input.flush()
    }

    /// Sends a frame.
    pub fn send(&mut self, frame: &Value) {
        if let (Some(id), Some(_)) = (frame.get("id"), frame.get("method")) {
            *self.asked.entry(id.to_string()).or_default() += 1;
        }
        self.write_now(&self.framing.frame(&frame.to_string())).unwrap();
    }

    /// Sends several frames in one write.
    pub fn send_together(&mut self, frames: &[Value]) {
        let mut bytes = Vec::new();
        for frame in frames {
            if let (Some(id), Some(_)) = (frame.get("id"), frame.get("method")) {
                *self.asked.entry(id.to_string()).or_default() += 1;
            }
            bytes.extend_from_slice(&self.framing.frame(&frame.to_string()));
        }
        self.write_now(&bytes).unwrap();
    }

    /// A request under the next id; not sent yet.
    pub fn frame(&mut self, method: &str, params: Value) -> (u64, Value) {
        self.next_id += 1;
        let id = self.next_id;
        (id, json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    /// Sends a request without waiting for its answer; returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        let (id, frame) = self.frame(method, params);
        self.send(&frame);
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Waits for the answer to a request: the whole frame.
    pub fn answer(&self, id: impl Into<Value>) -> Value {
        let id = id.into();
        let mut at = 0;
        self.wait_for(&format!("the answer to {id}"), move |frames| {
            find(frames, &mut at, |frame| {
                frame.get("method").is_none() && frame.get("id") == Some(&id)
            })
        })
    }

    /// Waits for the result of a request.
    pub fn result(&self, id: u64) -> Value {
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Asks and waits for the result.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Asks and waits for the error.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(id);
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"].clone()
    }

    /// Begins a session of a chosen id and subscribes to all of it.
    pub fn session(&mut self, id: &str) {
        self.request("session/new", json!({ "sessionId": id }));
        self.request("session/subscribe", json!({ "sessionId": id, "after": -1 }));
    }

    /// Prompts; returns the message's id.
    pub fn prompt(&mut self, session: &str, text: &str) -> String {
        let result = self.request("session/prompt", json!({ "sessionId": session, "text": text }));
        result["messageId"].as_str().unwrap().to_owned()
    }

    /// Prompts and waits for the end of the turn.
    #[track_caller]
    pub fn complete(&mut self, session: &str, text: &str) -> Value {
        let message = self.prompt(session, text);
        let params = json!({ "sessionId": session, "messageId": message });
        let waited = self.request("session/wait", params);
        assert_eq!(waited["outcome"]["kind"], "completed", "{waited}");
        waited
    }

    /// Waits until a session rests; returns the outcome of its last turn.
    pub fn rest(&mut self, session: &str) -> Value {
        self.request("session/wait", json!({ "sessionId": session }))
    }

    /// All events of a session, asked for page by page.
    pub fn log(&mut self, session: &str) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        loop {
            let after = i64::try_from(events.len()).unwrap() - 1;
            let params = json!({ "sessionId": session, "after": after, "limit": 5000 });
            let page = self.request("session/events", params);
            events.extend(page["events"].as_array().unwrap().iter().cloned());
            if page["more"] != true {
                return events;
            }
        }
    }

    /// All events of a session as the protocol's type.
    pub fn events(&mut self, session: &str) -> Vec<Event> {
        self.log(session).into_iter().map(|event| serde_json::from_value(event).unwrap()).collect()
    }

    /// The texts of a session's messages as the model sees them: `role: text`.
    pub fn conversation(&mut self, session: &str) -> Vec<String> {
        let result = self.request("session/messages", json!({ "sessionId": session }));
        let messages = result["messages"].as_array().unwrap().iter();
        messages
            .map(|message| {
                let role = message["role"].as_str().unwrap();
                let blocks = message["content"].as_array().unwrap().iter();
                let text: String = blocks
                    .map(|block| block["text"].as_str().or(block["name"].as_str()).unwrap_or("…"))
                    .collect();
                format!("{role}: {text}")
            })
            .collect()
    }

    /// Waits for an event of a session that a subscription brings.
    pub fn event(&self, session: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut at = 0;
        self.wait_for(what, |frames| {
            let found = find(frames, &mut at, |frame| {
                frame["method"] == "session/event"
                    && frame["params"]["sessionId"] == session
                    && wanted(&frame["params"]["event"])
            });
            found.map(|frame| frame["params"]["event"].clone())
        })
    }

    /// Waits for an event of a type.
    pub fn event_of(&self, session: &str, name: &str) -> Value {
        self.event(session, name, |event| event["type"] == name)
    }

    /// Waits for a piece of the answer.
    pub fn text(&self, session: &str, text: &str) -> Value {
        self.event(session, text, |event| {
            event["data"]["chunk"]["text"].as_str().is_some_and(|said| said.contains(text))
        })
    }

    /// Waits for a notification of a session.
    pub fn notification(&self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut at = 0;
        self.wait_for(method, |frames| {
            let found = find(frames, &mut at, |frame| {
                frame["method"] == method && wanted(&frame["params"])
            });
            found.map(|frame| frame["params"].clone())
        })
    }

    /// Everything that was heard so far.
    pub fn frames(&self) -> Vec<Value> {
        self.heard.lock().frames.clone()
    }

    /// The frames from a place on.
    pub fn frames_since(&self, at: usize) -> Vec<Value> {
        self.heard.lock().frames[at..].to_vec()
    }

    /// What stands on standard error so far.
    pub fn complaints(&self) -> String {
        self.heard.lock().complaints.clone()
    }

    /// The events of a session that its subscriptions have brought so far.
    pub fn received(&self, session: &str) -> Vec<Value> {
        let is_event = |frame: &&Value| {
            frame["method"] == "session/event" && frame["params"]["sessionId"] == session
        };
        let said = self.heard.lock();
        said.frames.iter().filter(is_event).map(|frame| frame["params"]["event"].clone()).collect()
    }

    /// Waits until `found` finds what it looks for among all frames.
    pub fn wait_for<T>(&self, what: &str, mut found: impl FnMut(&[Value]) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        let mut said = self.heard.lock();
        loop {
            assert!(said.strange.is_empty(), "not frames: {:?}", said.strange);
            if let Some(found) = found(&said.frames) {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            if said.ended == 2 || left.is_zero() {
                let last = said.frames.len().saturating_sub(12);
                let frames: Vec<String> =
                    said.frames[last..].iter().map(Value::to_string).collect();
                let (complaints, frames) = (said.complaints.clone(), frames.join("\n"));
                drop(said);
                panic!("waited in vain for {what}; last frames:\n{frames}\nstderr:\n{complaints}");
            }
            said = self.heard.more.wait_timeout(said, left).unwrap().0;
        }
    }

    /// Stops taking what the process says, or goes on.
    pub fn pause_reading(&self, paused: bool) {
        self.heard.lock().paused = paused;
        self.heard.more.notify_all();
    }

    /// Closes the process's input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Takes the input away, for writing from another thread.
    pub fn take_input(&mut self) -> ChildStdin {
        self.raw = true;
        self.input.take().unwrap()
    }

    /// Kills the process at once, as a crash does. What it has said is heard when this returns.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.ended = Some(self.child.wait().unwrap());
        self.heard.wait_for_the_end(PATIENCE);
    }

    /// Lets no file of the process grow beyond a size in bytes, as a full disk does; `None`: there is room again.
    pub fn let_files_grow_to(&self, most: Option<u64>) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.pid()).unwrap());
        let limit = rustix::process::Rlimit { current: most, maximum: None };
        rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the process to end by itself.
    pub fn exit_status(&mut self) -> ExitStatus {
        if let Some(status) = self.ended {
            return status;
        }
        let until = Instant::now() + PATIENCE;
        let mut said = self.heard.lock();
        while said.ended < 2 {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the process does not end; stderr:\n{}", said.complaints);
            said = self.heard.more.wait_timeout(said, left).unwrap().0;
        }
        drop(said);
        let status = self.child.wait().unwrap();
        self.ended = Some(status);
        status
    }

    /// Waits for the process to end by itself, read or not.
    pub fn status_unread(&mut self) -> ExitStatus {
        self.may_be_torn = true;
        let until = Instant::now() + PATIENCE;
        while self.ended.is_none() {
            assert!(Instant::now() < until, "the process does not end");
            self.ended = self.child.try_wait().unwrap();
            std::thread::park_timeout(Duration::from_millis(2));
        }
        self.ended.unwrap()
    }

    /// Says `shutdown` and `exit` and waits for the end, which must be clean.
    pub fn shut_down(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.pause_reading(false);
        if self.ended.is_none() && self.input.is_some() {
            if self.initialized {
                self.request("shutdown", Value::Null);
            }
            self.notify("exit", Value::Null);
            let expected = i32::from(!self.initialized);
            let status = self.exit_status();
            assert_eq!(status.code(), Some(expected), "stderr:\n{}", self.complaints());
            self.close_input();
        }
        self.exit_status();
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        self.check();
    }

    /// What holds of every conversation.
    fn check(&self) {
        let said = self.heard.lock();
        let torn = usize::from(self.may_be_torn);
        assert!(said.strange.len() <= torn, "not frames: {:?}", said.strange);
        assert!(!said.complaints.contains("panicked at"), "{}", said.complaints);
        if self.raw {
            return;
        }
        let mut answered: BTreeMap<String, usize> = BTreeMap::new();
        for frame in said.frames.iter().filter(|frame| frame.get("method").is_none()) {
            *answered.entry(frame["id"].to_string()).or_default() += 1;
        }
        for (id, times) in &answered {
            let asked = self.asked.get(id).copied().unwrap_or(0);
            assert!(*times <= asked, "id {id} was asked {asked} and answered {times} times");
        }
        let was_killed = self.ended.is_some_and(|status| status.code().is_none());
        assert!(was_killed || answered == self.asked, "requests without an answer");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        } else if !self.readers.is_empty() {
            self.end();
        }
    }
}

/// The first frame from `at` on that is wanted. Frames are looked at once.
fn find(frames: &[Value], at: &mut usize, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
    while let Some(frame) = frames.get(*at) {
        *at += 1;
        if wanted(frame) {
            return Some(frame.clone());
        }
    }
    None
}
