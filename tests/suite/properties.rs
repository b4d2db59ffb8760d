//! What holds of every sequence of events: folding step by step is folding from scratch, and a log that was
//! written is the log that is read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_protocol::event::Event;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::FileHeader;
use dsh_session::fold::Fold;
use dsh_session::jsonl::{self, JsonlStore};
use dsh_session::store::Store;
use dsh_tests::rules;
use proptest::prelude::*;
use serde_json::{Value, json};

/// What may come next; whatever does not fit the state of the log is left out.
#[derive(Clone, Copy, Debug)]
enum Move {
    Queue(bool),
    Claim(bool),
    Discard(bool),
    TurnStart,
    TurnEnd,
    StepStart,
    StepEnd,
    Say(bool),
    Ask(u8),
    Call,
    Result,
    Deltas(u8, u8),
    Replace(u8, u8),
    Prune,
    Title,
    Unknown,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        any::<bool>().prop_map(Move::Queue),
        any::<bool>().prop_map(Move::Claim),
        any::<bool>().prop_map(Move::Discard),
        Just(Move::TurnStart),
        Just(Move::TurnEnd),
        Just(Move::StepStart),
        Just(Move::StepEnd),
        any::<bool>().prop_map(Move::Say),
        (0..4u8).prop_map(Move::Ask),
        Just(Move::Call),
        Just(Move::Result),
        (0..3u8, 1..9u8).prop_map(|(kind, count)| Move::Deltas(kind, count)),
        any::<(u8, u8)>().prop_map(|(start, end)| Move::Replace(start, end)),
        Just(Move::Prune),
        Just(Move::Title),
        Just(Move::Unknown),
    ];
    prop::collection::vec(one, 0..120)
}

/// Builds events one by one, keeping those that the fold accepts.
#[derive(Default)]
struct Builder {
    fold: Fold,
    events: Vec<Event>,
}

impl Builder {
    fn of(moves: &[Move]) -> Self {
        let mut builder = Self::default();
        for next in moves {
            builder.play(*next);
        }
        builder
    }

    fn play(&mut self, next: Move) {
        let open = self.fold.open_turn.as_ref();
        let turn = open.map_or(0, |open| open.turn);
        let step = open.and_then(|open| open.step).unwrap_or(0);
        let last_step = open.map_or(0, |open| open.last_step);
        let call = open.and_then(|open| open.calls.first()).map(|call| call.id.clone());
        let at = json!({ "turn": turn, "step": step });
        let list = |steer: bool| if steer { "next-step" } else { "next-turn" };
        match next {
            Move::Queue(steer) => self.queue(list(steer)),
            Move::Claim(steer) => self.claim(list(steer)),
            Move::Discard(steer) => {
                let data = json!({ "target": list(steer), "start": 0, "removedCount": 1, "inserted": [], "outcome": "canceled" });
                self.push("agent/inbox/spliced", data, &json!({}));
            }
            Move::TurnStart => {
                let number = self.fold.turns.len() + 1;
                self.push("turn/start", json!({ "turn": number }), &json!({}));
            }
            Move::TurnEnd => {
                let reason = json!({ "kind": "completed" });
                self.push("turn/end", json!({ "turn": turn, "reason": reason }), &json!({}));
            }
            Move::StepStart => {
                let data = json!({ "turn": turn, "step": last_step + 1 });
                self.push("step/start", data, &json!({}));
            }
            Move::StepEnd => self.push("step/end", at, &json!({})),
            Move::Say(empty) => self.answer(&at, u8::from(!empty), 0),
            Move::Ask(calls) => self.answer(&at, 1, calls),
            Move::Call => {
                let mut data = at;
                data["callId"] = json!(call);
                data["name"] = json!("read");
                data["arguments"] = json!("{}");
                self.push("tool/call", data, &json!({}));
            }
            Move::Result => self.result(&at, &json!(call)),
            Move::Deltas(kind, count) => self.deltas(&at, kind, count),
            Move::Replace(start, end) => self.replace(start, end),
            Move::Prune => self.prune(),
            Move::Title => {
                let title = format!("title {}", self.events.len());
                self.push("session/title", json!({ "title": title }), &json!({}));
            }
            Move::Unknown => {
                self.push("later/event", json!({ "a": [1, 2] }), &json!({ "ignorable": true }));
            }
        }
    }

    fn queue(&mut self, list: &str) {
        let id = format!("m{}", self.events.len());
        let target = if list == "next-step" {
            &self.fold.inbox.next_step
        } else {
            &self.fold.inbox.next_turn
        };
        let message = json!({ "id": id, "role": "user", "content": [{ "type": "text", "text": id }], "source": { "kind": "user" } });
        let data = json!({ "target": list, "start": target.len(), "inserted": [message] });
        self.push("agent/inbox/spliced", data, &json!({}));
    }

    fn claim(&mut self, list: &str) {
        let target = if list == "next-step" {
            &self.fold.inbox.next_step
        } else {
            &self.fold.inbox.next_turn
        };
        let Some(message) = target.first().map(|message| json!(message)) else { return };
        let data = json!({ "target": list, "start": 0, "removedCount": 1, "inserted": [] });
        self.push("agent/inbox/spliced", data, &json!({}));
        self.push("user/message", message, &json!({ "surfaceOp": "append" }));
    }

    fn answer(&mut self, at: &Value, texts: u8, calls: u8) {
        let seq = self.events.len();
        let text = json!({ "type": "text", "text": format!("answer {seq}") });
        let mut content: Vec<Value> = (0..texts).map(|_| text.clone()).collect();
        content.extend((0..calls).map(|call| {
            json!({ "type": "tool-call", "id": format!("c{seq}-{call}"), "name": "read", "arguments": "{}" })
        }));
        let source = json!({ "kind": "model", "provider": "p", "model": "m" });
        let mut data = at.clone();
        data["message"] = json!({ "id": format!("a{seq}"), "role": "assistant", "content": content, "source": source });
        data["usage"] = json!({ "inputTokens": 2, "outputTokens": 1 });
        let more = json!({ "surfaceOp": "append", "sourceEventSeqs": [] });
        self.push("assistant/message", data, &more);
    }

    fn result(&mut self, at: &Value, call: &Value) {
        let block = json!({ "type": "tool-result", "toolCallId": call, "content": [] });
        let source = json!({ "kind": "tool", "callId": call });
        let mut data = at.clone();
        let id = format!("r{}", self.events.len());
        data["message"] = json!({ "id": id, "role": "tool", "content": [block], "source": source });
        self.push("tool/result", data, &json!({ "surfaceOp": "append" }));
    }

    /// Deltas of one block; the clock jumps back in between.
    fn deltas(&mut self, at: &Value, kind: u8, count: u8) {
        for delta in 0..count {
            let said = format!("{delta} \u{1f642}\u{2028}");
            let chunk = match kind {
                0 => json!({ "type": "text-delta", "index": 0, "text": said }),
                1 => json!({ "type": "reasoning-delta", "index": 1, "text": said }),
                _ => json!({ "type": "tool-call-delta", "index": 2, "argumentsDelta": said }),
            };
            let mut data = at.clone();
            data["chunk"] = chunk;
            self.push("assistant/chunk", data, &json!({ "time": 1_000 - u64::from(delta) * 7 }));
        }
    }

    /// The seqs of the visible messages, in their order.
    fn visible(&self) -> Vec<u64> {
        let mut visible: Vec<u64> = Vec::new();
        for event in &self.events {
            let event = json!(event);
            let seq = event["seq"].as_u64().unwrap();
            let op = &event["surfaceOp"];
            if op["op"] == "replace" {
                let place = |end: &str| visible.iter().position(|seq| op[end] == *seq).unwrap();
                visible.splice(place("start")..=place("end"), [seq]);
            } else if op == "append" {
                visible.push(seq);
            }
        }
        visible
    }

    /// Replaces a range of what is visible by one message.
    fn replace(&mut self, start: u8, end: u8) {
        let visible = self.visible();
        if visible.is_empty() {
            return;
        }
        let (start, end) = (usize::from(start) % visible.len(), usize::from(end) % visible.len());
        let id = format!("s{}", self.events.len());
        let message = json!({ "id": id, "role": "user", "content": [{ "type": "text", "text": "short" }], "source": { "kind": "plugin", "plugin": "p" } });
        let op = json!({ "op": "replace", "start": visible[start], "end": visible[end] });
        let shadowed = visible.get(start..=end).unwrap_or_default();
        self.push(
            "user/message",
            message,
            &json!({ "surfaceOp": op, "sourceEventSeqs": shadowed }),
        );
    }

    /// Replaces the first result of a tool by a shorter one.
    fn prune(&mut self) {
        let visible = self.visible();
        let results = self.events.iter().map(|event| json!(event));
        let mut results = results.filter(|event| event["type"] == "tool/result");
        let Some(result) = results.find(|event| visible.iter().any(|seq| event["seq"] == *seq))
        else {
            return;
        };
        let mut data = result["data"].clone();
        data["message"]["content"][0]["content"] = json!([{ "type": "text", "text": "pruned" }]);
        let op = json!({ "op": "replace", "start": result["seq"], "end": result["seq"] });
        let more = json!({ "surfaceOp": op, "sourceEventSeqs": [result["seq"]] });
        self.push("tool/result", data, &more);
    }

    #[expect(clippy::needless_pass_by_value, reason = "`json!` values are made for the call")]
    fn push(&mut self, name: &str, data: Value, more: &Value) {
        let seq = self.events.len();
        let mut event = json!({ "type": name, "seq": seq, "time": 1_000 + seq, "data": data });
        for (key, value) in more.as_object().unwrap() {
            event[key] = value.clone();
        }
        let Ok(event) = serde_json::from_value::<Event>(event) else { return };
        let before = self.fold.clone();
        match self.fold.push(&event) {
            Ok(()) => self.events.push(event),
            Err(_) => assert_eq!(self.fold, before, "a refused event changes nothing"),
        }
    }
}

/// No file remembers failures: a failing case is printed, and becomes a test of its own.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn folding_one_by_one_is_folding_from_scratch(moves in moves()) {
        let built = Builder::of(&moves);
        prop_assert_eq!(&Fold::of(&built.events).unwrap(), &built.fold);
        for cut in [built.events.len() / 3, built.events.len() / 2] {
            let mut fold = Fold::of(&built.events[..cut]).unwrap();
            for event in &built.events[cut..] {
                fold.push(event).unwrap();
            }
            prop_assert_eq!(&fold, &built.fold);
        }
    }

    #[test]
    fn the_messages_of_a_fold_are_those_that_the_rules_derive(moves in moves()) {
        let built = Builder::of(&moves);
        let events: Vec<Value> = built.events.iter().map(|event| json!(event)).collect();
        let messages = json!(built.fold.surface.messages());
        prop_assert_eq!(messages, json!(rules::messages(&events)));
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn a_log_is_read_as_it_was_written(moves in moves(), flushes in prop::collection::vec(0..120usize, 0..4)) {
        let built = Builder::of(&moves);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (read, fold, again) = runtime.block_on(written(folder.path(), &built.events, &flushes));
        prop_assert_eq!(&read, &built.events);
        prop_assert_eq!(&fold, &built.fold);
        prop_assert_eq!(&again, &built.events);
    }
}

/// Writes events and reads them back: through the store, and as a file.
async fn written(
    home: &Path,
    events: &[Event],
    flushes: &[usize],
) -> (Vec<Event>, Fold, Vec<Event>) {
    let store = JsonlStore::new(home, home);
    let header = json!({ "type": "session", "version": 0, "id": "s", "createdAt": 1, "cwd": "/", "other": { "kept": [1] } });
    let header: FileHeader = serde_json::from_value(header).unwrap();
    let sink = store.create(header.clone()).await.unwrap();
    for (at, event) in events.iter().enumerate() {
        sink.append(event);
        if flushes.contains(&at) {
            sink.flush().await.unwrap();
        }
    }
    sink.flush().await.unwrap();
    let id = SessionId::from("s");
    let stored = store.open(id.clone()).await.unwrap();
    assert_eq!(*stored.log.header(), header);
    let (other, again) = jsonl::read_file(&store.path(&id)).unwrap();
    assert_eq!(other, header);
    let read = stored.log.page(-1, usize::MAX, |_| true).events;
    let fold = stored.log.read(Fold::clone);
    (read.iter().map(|event| Event::clone(event)).collect(), fold, again)
}

#[test]
fn a_result_takes_the_place_of_one_of_the_same_call_only() {
    let moves = [
        Move::Queue(false),
        Move::TurnStart,
        Move::Claim(false),
        Move::StepStart,
        Move::Ask(2),
        Move::Call,
        Move::Result,
        Move::Call,
        Move::Result,
    ];
    let built = Builder::of(&moves);
    let seq = |at: usize| built.events[built.events.len() - at].seq;
    let (first, second) = (seq(3), seq(1));
    let result = json!(built.events[usize::try_from(first).unwrap()]);
    let refused = |data: &Value, start: u64, end: u64| {
        let op = json!({ "op": "replace", "start": start, "end": end });
        let event = json!({
            "type": "tool/result", "seq": built.events.len(), "time": 1, "data": data,
            "surfaceOp": op, "sourceEventSeqs": [first, second],
        });
        built.fold.clone().push(&serde_json::from_value(event).unwrap()).is_err()
    };
    let mut data = result["data"].clone();
    data["message"]["content"][0]["content"] = json!([{ "type": "text", "text": "pruned" }]);
    assert!(!refused(&data, first, first), "its content may change");
    assert!(refused(&data, second, second), "that of another call");
    assert!(refused(&data, first, second), "two of them");
    assert!(refused(&data, seq(5), seq(5)), "an answer");
    data["message"]["content"][0]["isError"] = json!(true);
    assert!(refused(&data, first, first), "nothing else may change");
}

#[test]
fn the_streams_that_editors_fold_keep_the_rules_of_the_log() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../protocol/fixtures");
    let mut streams = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        streams += 1;
        let text = fs::read_to_string(&path).unwrap();
        let events: Vec<Arc<Event>> =
            text.lines().map(|line| Arc::new(serde_json::from_str(line).unwrap())).collect();
        if let Err(violation) = Fold::of(events.iter().map(AsRef::as_ref)) {
            panic!("{}: {violation}", path.display());
        }
    }
    assert!(streams > 5, "{streams} streams");
}
