//! The rules of a session's log, written from its description and not from the server's code: plain JSON in,
//! a list of problems out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What of a log is open, and what was wrong so far.
#[derive(Default)]
struct Rules {
    problems: Vec<String>,
    /// Types by seq.
    types: Vec<String>,
    turns: u64,
    open_turn: Option<u64>,
    steps: u64,
    open_step: Option<u64>,
    /// Calls of the open turn without a result, in the model's order.
    owed: Vec<String>,
    /// The seqs of `tool/call` events by call.
    started: BTreeMap<String, u64>,
    /// Messages that wait, by list.
    queues: BTreeMap<String, Vec<String>>,
    /// Messages that the open turn took and that the model has not been shown.
    claimed: BTreeSet<String>,
    /// Every message that was ever queued.
    known: BTreeSet<String>,
    has_header: bool,
}

/// What is wrong with a log that no process writes.
pub fn problems(id: &str, header: &Value, events: &[Value]) -> Vec<String> {
    let mut rules = Rules::default();
    rules.header(id, header);
    for (at, event) in events.iter().enumerate() {
        rules.event(at, event);
    }
    if let Some(turn) = rules.open_turn {
        rules.problems.push(format!("turn {turn} never ended"));
    }
    rules.problems
}

/// The messages that a model sees after some events.
pub fn messages(events: &[Value]) -> Vec<Value> {
    let mut visible: Vec<(u64, Value)> = Vec::new();
    for event in events {
        let message = match event["type"].as_str().unwrap() {
            "user/message" => &event["data"],
            "assistant/message" | "tool/result" => &event["data"]["message"],
            _ => continue,
        };
        let seq = event["seq"].as_u64().unwrap();
        let node = (seq, message.clone());
        if event["surfaceOp"] == "append" {
            visible.push(node);
            continue;
        }
        let place = |end: &Value| visible.iter().position(|(seq, _)| end == seq).unwrap();
        let range = place(&event["surfaceOp"]["start"])..=place(&event["surfaceOp"]["end"]);
        visible.splice(range, [node]);
    }
    let said = |message: &Value| message["content"].as_array().is_some_and(|all| !all.is_empty());
    visible.into_iter().map(|(_, message)| message).filter(said).collect()
}

const SURFACE: [&str; 3] = ["user/message", "assistant/message", "tool/result"];

const ENVELOPE: [&str; 7] =
    ["type", "seq", "time", "data", "surfaceOp", "sourceEventSeqs", "ignorable"];

impl Rules {
    fn header(&mut self, id: &str, header: &Value) {
        self.demand(header["type"] == "session", "the header's type");
        self.demand(header["version"] == 0, "the header's version");
        self.demand(header["id"] == id, "the header's id is not the file's name");
        self.demand(header["createdAt"].is_u64(), "createdAt");
        let cwd = header["cwd"].as_str().unwrap_or_default();
        self.demand(cwd.starts_with('/'), "cwd is not absolute");
    }

    fn event(&mut self, at: usize, event: &Value) {
        let before = self.problems.len();
        let name = event["type"].as_str().unwrap_or_default().to_owned();
        let data = &event["data"];
        self.envelope(at, &name, event);
        match name.as_str() {
            "turn/start" => self.turn_start(data),
            "turn/end" => self.turn_end(data),
            "step/start" => self.step_start(data),
            "step/end" => self.step_end(data),
            "user/message" => self.user_message(data),
            "assistant/chunk" => {
                self.in_step(data);
                self.demand(self.has_header, "a request without a header");
            }
            "assistant/message" => self.answer(event),
            "tool/call" => self.tool_call(at, data),
            "tool/result" => self.tool_result(event),
            "request/header" | "request/context" => {
                self.has_header = true;
                self.demand(self.open_turn.is_some(), "outside a turn");
            }
            "agent/inbox/spliced" => self.splice(data),
            "message/outcome" => {
                let id = data["messageId"].as_str().unwrap_or_default();
                let was_claimed = self.claimed.remove(id);
                self.demand(was_claimed, "an outcome of a message that was not claimed");
            }
            _ => {}
        }
        self.types.push(name.clone());
        for problem in &mut self.problems[before..] {
            *problem = format!("event {at} ({name}): {problem}");
        }
    }

    fn envelope(&mut self, at: usize, name: &str, event: &Value) {
        let fields = event.as_object().unwrap();
        self.demand(fields.keys().all(|key| ENVELOPE.contains(&key.as_str())), "a strange field");
        self.demand(event["seq"] == at, "seq is not the place in the log");
        self.demand(event["time"].is_u64(), "time");
        self.demand(event["data"].is_object(), "data");
        let surface = SURFACE.contains(&name);
        self.demand(surface == fields.contains_key("surfaceOp"), "surfaceOp");
        let Some(sources) = event["sourceEventSeqs"].as_array() else { return };
        let unique: BTreeSet<Option<u64>> = sources.iter().map(Value::as_u64).collect();
        self.demand(unique.len() == sources.len(), "a source is named twice");
        let earlier = unique.iter().all(|seq| seq.is_some_and(|seq| seq < at as u64));
        self.demand(earlier, "a source lies behind");
    }

    fn turn_start(&mut self, data: &Value) {
        self.demand(self.open_turn.is_none(), "a turn inside a turn");
        self.turns += 1;
        self.demand(data["turn"] == self.turns, "turns are not consecutive");
        self.open_turn = Some(self.turns);
        self.steps = 0;
    }

    fn turn_end(&mut self, data: &Value) {
        self.demand(self.open_turn.is_some_and(|turn| data["turn"] == turn), "not the open turn");
        self.demand(self.open_step.is_none(), "a step is open");
        self.demand(self.owed.is_empty(), "calls without a result");
        self.demand(self.claimed.is_empty(), "a claimed message came to nothing");
        self.demand(data["reason"]["kind"].is_string(), "no reason");
        self.open_turn = None;
        self.owed.clear();
        self.claimed.clear();
    }

    fn step_start(&mut self, data: &Value) {
        self.demand(self.open_turn.is_some_and(|turn| data["turn"] == turn), "not the open turn");
        self.demand(self.open_step.is_none(), "a step inside a step");
        self.steps += 1;
        self.demand(data["step"] == self.steps, "steps are not consecutive");
        self.open_step = Some(self.steps);
    }

    fn step_end(&mut self, data: &Value) {
        self.in_step(data);
        self.open_step = None;
    }

    fn user_message(&mut self, data: &Value) {
        let id = data["id"].as_str().unwrap_or_default();
        self.demand(data["role"] == "user", "role");
        let was_claimed = self.claimed.remove(id);
        self.demand(was_claimed || data["source"]["kind"] == "plugin", "was not claimed");
    }

    fn answer(&mut self, event: &Value) {
        let data = &event["data"];
        self.in_step(data);
        let sources = event["sourceEventSeqs"].as_array().cloned().unwrap_or_default();
        let chunks = sources.iter().all(|seq| {
            let at = seq.as_u64().and_then(|seq| usize::try_from(seq).ok());
            at.and_then(|at| self.types.get(at)).is_some_and(|name| name == "assistant/chunk")
        });
        self.demand(chunks, "made of what is no chunk");
        let blocks = data["message"]["content"].as_array().cloned().unwrap_or_default();
        let calls = blocks.iter().filter(|block| block["type"] == "tool-call");
        let calls: Vec<String> =
            calls.map(|call| call["id"].as_str().unwrap().to_owned()).collect();
        self.demand(data["interrupted"] != true || calls.is_empty(), "a call that was cut off");
        let unique: BTreeSet<&String> = calls.iter().collect();
        self.demand(unique.len() == calls.len(), "two calls under one id");
        self.demand(self.owed.is_empty(), "an answer before all results");
        self.owed = calls;
        self.started.clear();
    }

    fn tool_call(&mut self, at: usize, data: &Value) {
        self.in_step(data);
        let id = data["callId"].as_str().unwrap_or_default().to_owned();
        self.demand(self.owed.contains(&id), "nobody asked for the call");
        self.demand(data["arguments"].is_string(), "arguments are the model's own text");
        self.started.insert(id, at as u64);
    }

    fn tool_result(&mut self, event: &Value) {
        let data = &event["data"];
        self.in_step(data);
        let message = &data["message"];
        let block = &message["content"][0];
        let id = block["toolCallId"].as_str().unwrap_or_default();
        self.demand(message["content"].as_array().is_some_and(|all| all.len() == 1), "one block");
        self.demand(message["source"]["callId"] == id, "the source names another call");
        self.demand(self.owed.first().is_some_and(|owed| owed == id), "not in the model's order");
        self.owed.retain(|owed| owed != id);
        let never_started = data["error"]["code"] == "TOOL_NOT_STARTED";
        let call = self.started.get(id).copied();
        self.demand(call.is_none() == never_started, "a result of a call that did not start");
        if let Some(call) = call {
            self.demand(event["sourceEventSeqs"][0] == call, "does not cite its call");
        }
    }

    fn splice(&mut self, data: &Value) {
        let target = data["target"].as_str().unwrap_or_default().to_owned();
        let start = usize::try_from(data["start"].as_u64().unwrap()).unwrap();
        let count = usize::try_from(data["removedCount"].as_u64().unwrap_or(0)).unwrap();
        let inserted: Vec<String> = data["inserted"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["id"].as_str().unwrap().to_owned())
            .collect();
        let fresh = inserted.iter().all(|id| self.known.insert(id.clone()));
        self.demand(fresh, "a message was queued twice");
        let queue = self.queues.entry(target).or_default();
        let fits = start + count <= queue.len();
        let end = (start + count).min(queue.len());
        let removed: Vec<String> = queue.splice(start.min(end)..end, inserted).collect();
        self.demand(fits, "outside its list");
        if data["outcome"].is_null() {
            self.demand(removed.is_empty() || self.open_turn.is_some(), "claimed outside a turn");
            self.claimed.extend(removed);
        }
    }

    fn in_step(&mut self, data: &Value) {
        let turn = self.open_turn.is_some_and(|turn| data["turn"] == turn);
        let step = self.open_step.is_some_and(|step| data["step"] == step);
        self.demand(turn && step, "not in the open step");
    }

    fn demand(&mut self, holds: bool, problem: &str) {
        if !holds {
            self.problems.push(problem.to_owned());
        }
    }
}
