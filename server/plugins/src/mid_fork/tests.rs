//! Windows of small logs, and what is shown of them.

use std::sync::Arc;

use dsh_agent::subagents::error::{Measured, ProjectionCode};
use dsh_agent::subagents::request::Window;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::Event;
use dsh_session::fold::Fold;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::projection::{Mask, Options, Projection, project};

mod hostile;
mod replaced;
mod settings;

/// A log in the making.
#[derive(Default)]
struct Log {
    events: Vec<Arc<Event>>,
    turn: u64,
    step: u64,
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

fn image(data: &str) -> Value {
    json!({ "type": "image", "data": data, "mediaType": "image/png" })
}

impl Log {
    fn add(mut self, name: &str, data: &Value, more: &Value) -> Self {
        let seq = self.events.len();
        let mut event = json!({ "type": name, "seq": seq, "time": 1, "data": data });
        for (key, value) in more.as_object().unwrap() {
            event[key] = value.clone();
        }
        self.events.push(Arc::new(serde_json::from_value(event).unwrap()));
        self
    }

    fn turn(mut self) -> Self {
        self.turn += 1;
        self.step = 0;
        let turn = self.turn;
        self.add("turn/start", &json!({ "turn": turn }), &json!({}))
    }

    fn step(mut self) -> Self {
        self.step += 1;
        let mark = json!({ "turn": self.turn, "step": self.step });
        self.add("step/start", &mark, &json!({}))
    }

    fn end_step(self) -> Self {
        let mark = json!({ "turn": self.turn, "step": self.step });
        self.add("step/end", &mark, &json!({}))
    }

    fn end_turn(self) -> Self {
        let end = json!({ "turn": self.turn, "reason": { "kind": "completed" } });
        self.add("turn/end", &end, &json!({}))
    }

    fn user(self, content: &Value) -> Self {
        self.input(content, &json!({ "kind": "user" }))
    }

    fn input(self, content: &Value, source: &Value) -> Self {
        let id = format!("m{}", self.events.len());
        let message = json!({ "id": id, "role": "user", "content": content, "source": source });
        self.add("user/message", &message, &json!({ "surfaceOp": "append" }))
    }

    fn answer(self, content: &Value) -> Self {
        let id = format!("m{}", self.events.len());
        let source = json!({ "kind": "model", "provider": "p", "model": "SECRET-MODEL" });
        let message =
            json!({ "id": id, "role": "assistant", "content": content, "source": source });
        let data = json!({ "turn": self.turn, "step": self.step, "message": message });
        self.add("assistant/message", &data, &json!({ "surfaceOp": "append" }))
    }

    fn call(self, id: &str, name: &str, arguments: &str) -> Self {
        let data = json!({
            "turn": self.turn, "step": self.step, "callId": id, "name": name, "arguments": arguments,
        });
        self.add("tool/call", &data, &json!({}))
    }

    fn result(self, id: &str, content: &Value) -> Self {
        let data = result(self.turn, self.step, self.events.len(), id, content);
        self.add("tool/result", &data, &json!({ "surfaceOp": "append" }))
    }

    /// One step that reasons, says `said`, calls a tool as `id` and reads `out`.
    fn work(self, said: &str, id: &str, out: &str) -> Self {
        let answer = json!([
            { "type": "reasoning", "text": format!("SECRET-{said}") },
            { "type": "text", "text": said },
            { "type": "tool-call", "id": id, "name": "inspect", "arguments": "{\"a\":1}" },
        ]);
        self.answer(&answer).call(id, "inspect", "{\"a\":1}").result(id, &text(out))
    }

    /// A whole turn of one step.
    fn simple(self, asked: &str, said: &str) -> Self {
        let id = format!("c-{said}");
        self.turn().step().user(&text(asked)).work(said, &id, "ok").end_step().end_turn()
    }

    fn project(&self, window: Window) -> Projection {
        project(&self.events, &options(window)).unwrap()
    }
}

fn result(turn: u64, step: u64, at: usize, id: &str, content: &Value) -> Value {
    json!({
        "turn": turn, "step": step,
        "message": {
            "id": format!("m{at}"), "role": "tool", "source": { "kind": "tool", "callId": id },
            "content": [{ "type": "tool-result", "toolCallId": id, "content": content }],
        },
    })
}

fn options(window: Window) -> Options {
    Options { window, mask: Mask::ReasoningOnly, max_chars: None, max_images: None }
}

/// The snapshot as text, its preamble left out.
fn shown(projection: &Projection) -> String {
    let mut shown = String::new();
    for block in &projection.content {
        if let ContentBlock::Text { text } = block {
            shown.push_str(text);
        } else if let ContentBlock::Image { data: Some(data), .. } = block {
            shown.extend(["[", data, "]"]);
        } else {
            panic!("{block:?}");
        }
    }
    let (head, rest) = shown.split_once('\n').unwrap();
    let (preamble, rest) = rest.split_once('\n').unwrap();
    assert!(preamble.starts_with("The conversation before"), "{preamble}");
    format!("{head}\n<preamble>\n{rest}")
}

#[track_caller]
fn check(projection: &Projection, expected: &Expect) {
    expected.assert_eq(&shown(projection));
}

fn one_turn() -> Log {
    let answer = json!([
        { "type": "reasoning", "text": "r" },
        { "type": "text", "text": "v" },
        { "type": "tool-call", "id": "c1", "name": "inspect", "arguments": "{\"a\":1}" },
    ]);
    Log::default()
        .turn()
        .step()
        .user(&text("q"))
        .answer(&answer)
        .call("c1", "inspect", "{\"a\":1}")
        .result("c1", &text("ok"))
        .end_step()
}

#[test]
fn the_grammar_is_exactly_this() {
    let projection = one_turn().end_turn().project(Window::RecentSteps(1));
    check(
        &projection,
        &expect![[r#"
            <mid-fork-suffix window="recent-steps" mask="reasoning-only" projected-turns="1" projected-steps="1" requested-steps="1">
            <preamble>

            Turn 1:
              Step 1 (one complete model decision):
                User input: q
                Assistant visible content: v
                Decision action [callId=c1]: inspect({"a":1})
                Tool outcome [callId=c1; status=success]: ok
                Turn end: completed

            </mid-fork-suffix>"#]],
    );
    assert_eq!(projection.omitted_reasoning_blocks, 1);
    assert_eq!(projection.projected_assistant_messages, 1);
    assert!(projection.seed.is_empty());
}

#[test]
fn the_turn_that_is_open_says_so() {
    let projection = one_turn().project(Window::CurrentTurn);
    check(
        &projection,
        &expect![[r#"
            <mid-fork-suffix window="current-turn" mask="reasoning-only" projected-turns="1" projected-steps="1">
            <preamble>

            Turn 1:
              Step 1 (one complete model decision):
                User input: q
                Assistant visible content: v
                Decision action [callId=c1]: inspect({"a":1})
                Tool outcome [callId=c1; status=success]: ok
                Turn state: open at masked-review checkpoint

            </mid-fork-suffix>"#]],
    );
}

#[test]
fn the_stricter_mask_leaves_the_answer_out_as_well() {
    let log = one_turn().end_turn();
    let window = Window::RecentSteps(1);
    let masked = Options { mask: Mask::ActionOnly, ..options(window) };
    let projection = project(&log.events, &masked).unwrap();
    assert_eq!(projection.omitted_reasoning_blocks, 1);
    assert_eq!(projection.projected_assistant_messages, 0);
    assert_eq!(projection.omitted_assistant_visible_messages, 1);
    let without = shown(&log.project(window))
        .replace("    Assistant visible content: v\n", "")
        .replace("reasoning-only", "action-only");
    assert_eq!(shown(&projection), without);
}

#[test]
fn the_last_steps_of_several_turns_are_shown_and_what_is_before_them_is_inherited() {
    let log = Log::default().simple("q1", "v1").simple("q2", "v2").simple("q3", "v3");
    let projection = log.project(Window::RecentSteps(2));
    assert_eq!((projection.projected_turns, projection.projected_steps), (2, 2));
    assert_eq!(projection.omitted_reasoning_blocks, 2);
    assert_eq!(projection.projected_assistant_messages, 2);
    let snapshot = shown(&projection);
    for word in ["q2", "v2", "q3", "v3", "inspect", "ok"] {
        assert!(snapshot.contains(word), "{word}: {snapshot}");
    }
    assert!(!snapshot.contains("SECRET") && !snapshot.contains("q1"), "{snapshot}");
    // What is inherited is a session: it folds, ends with a turn, and is what the parent has.
    let seed = &projection.seed;
    assert_eq!(seed.as_slice(), &log.events[..seed.len()]);
    let fold = Fold::of(seed.iter().map(AsRef::as_ref)).unwrap();
    assert_eq!((fold.turns.len(), fold.open_turn), (1, None));
    assert!(serde_json::to_string(seed.as_slice()).unwrap().contains("SECRET-v1"));
}

#[test]
fn results_are_tied_to_calls_by_their_ids_in_the_order_in_which_they_came() {
    let calls = json!([
        { "type": "tool-call", "id": "a", "name": "one", "arguments": "{}" },
        { "type": "tool-call", "id": "b", "name": "two", "arguments": "{}" },
    ]);
    let log = Log::default().turn().step().user(&text("q")).answer(&calls);
    let log = log.call("a", "one", "{}").call("b", "two", "{}");
    let log = log.result("b", &text("of b")).result("a", &text("")).end_step().end_turn();
    check(
        &log.project(Window::RecentSteps(4)),
        &expect![[r#"
            <mid-fork-suffix window="recent-steps" mask="reasoning-only" projected-turns="1" projected-steps="1" requested-steps="4">
            <preamble>

            Turn 1:
              Step 1 (one complete model decision):
                User input: q
                Decision action [callId=a]: one({})
                Decision action [callId=b]: two({})
                Tool outcome [callId=b; status=success]: of b
                Tool outcome [callId=a; status=success]: (empty)
                Turn end: completed

            </mid-fork-suffix>"#]],
    );
}

#[test]
fn a_turn_whose_first_step_is_not_shown_says_what_it_was_asked() {
    let log = Log::default()
        .simple("q1", "v1")
        .turn()
        .step()
        .user(&text("The\ntask."))
        .work("first", "x", "one");
    let log = log.end_step().step().work("second", "y", "two").end_step();
    let log = log.step().work("third", "z", "three").end_step().end_turn();
    let projection = log.project(Window::RecentSteps(2));
    check(
        &projection,
        &expect![[r#"
            <mid-fork-suffix window="recent-steps" mask="reasoning-only" projected-turns="1" projected-steps="2" requested-steps="2">
            <preamble>

            Turn 2:
              Turn request: The
                  | task.
              Step 2 (one complete model decision):
                Assistant visible content: second
                Decision action [callId=y]: inspect({"a":1})
                Tool outcome [callId=y; status=success]: two
              Step 3 (one complete model decision):
                Assistant visible content: third
                Decision action [callId=z]: inspect({"a":1})
                Tool outcome [callId=z; status=success]: three
                Turn end: completed

            </mid-fork-suffix>"#]],
    );
    let seed = serde_json::to_string(&projection.seed).unwrap();
    assert!(seed.contains("q1") && !seed.contains("task"), "{seed}");
    // It counts: a cap that fits exactly fits no longer with one unit less.
    let most = projection.snapshot_chars;
    let fits = |most| {
        let options = Options { max_chars: Some(most), ..options(Window::RecentSteps(2)) };
        project(&log.events, &options).is_ok()
    };
    assert!(fits(most) && !fits(most - 1));
}

#[test]
fn a_step_that_is_not_complete_is_not_shown() {
    let log = Log::default().simple("q1", "v1").turn().step().user(&text("UNFINISHED"));
    let projection = log.project(Window::RecentSteps(8));
    let snapshot = shown(&projection);
    assert!(projection.seed.is_empty());
    assert!(!snapshot.contains("UNFINISHED") && !snapshot.contains("open at"), "{snapshot}");
    let refused = |log: &Log, window| project(&log.events, &options(window)).unwrap_err();
    let error = refused(&Log::default(), Window::RecentSteps(3));
    assert_eq!(error.code, ProjectionCode::NoCompletedStep);
    assert_eq!((error.requested_steps, error.projected_steps), (Some(3), 0));
    assert_eq!(refused(&log, Window::CurrentTurn).code, ProjectionCode::NoCompletedStep);
    let ended = Log::default().simple("q", "v");
    assert_eq!(refused(&ended, Window::CurrentTurn).code, ProjectionCode::NoOpenTurn);
    assert_eq!(refused(&ended, Window::Turn(2)).code, ProjectionCode::NoOpenTurn);
    let two = Log::default().turn().turn().step().end_step();
    assert_eq!(refused(&two, Window::CurrentTurn).code, ProjectionCode::NoOpenTurn);
}

#[test]
fn a_turn_that_has_ended_can_be_shown_whole() {
    let log = Log::default().simple("q1", "v1").simple("q2", "v2").simple("q3", "v3");
    let projection = log.project(Window::Turn(2));
    let snapshot = shown(&projection);
    assert!(snapshot.starts_with("<mid-fork-suffix window=\"turn\""), "{snapshot}");
    assert!(snapshot.contains("q2") && !snapshot.contains("q1") && !snapshot.contains("q3"));
    assert_eq!(Fold::of(projection.seed.iter().map(AsRef::as_ref)).unwrap().turns.len(), 1);
}

fn pictures() -> Log {
    let asked = json!([{ "type": "text", "text": "Look:" }, image("AAAA"), { "type": "text", "text": "and\nthen" }]);
    let said = json!([image("BBBBBBBB"), { "type": "tool-call", "id": "c", "name": "shoot", "arguments": "{}" }]);
    let log = Log::default().turn().step().user(&asked).answer(&said).call("c", "shoot", "{}");
    log.result("c", &json!([image("CCCC")])).end_step().end_turn()
}

#[test]
fn images_are_numbered_and_stand_between_the_texts() {
    let projection = pictures().project(Window::RecentSteps(1));
    check(
        &projection,
        &expect![[r#"
            <mid-fork-suffix window="recent-steps" mask="reasoning-only" projected-turns="1" projected-steps="1" requested-steps="1">
            <preamble>

            Turn 1:
              Step 1 (one complete model decision):
                User input: Look:
                  Image evidence #1
                  source: User input
            [AAAA]
                  | and
                  | then
                Assistant visible content: 
                  Image evidence #2
                  source: assistant visible content
            [BBBBBBBB]

                Decision action [callId=c]: shoot({})
                Tool outcome [callId=c; status=success]: 
                  Image evidence #3
                  source: tool outcome
                  callId: c
            [CCCC]

                Turn end: completed

            </mid-fork-suffix>"#]],
    );
    assert_eq!((projection.projected_images, projection.projected_image_bytes), (3, 12));
    let masked = Options { mask: Mask::ActionOnly, ..options(Window::RecentSteps(1)) };
    let projection = project(&pictures().events, &masked).unwrap();
    assert_eq!((projection.projected_images, projection.projected_image_bytes), (2, 6));
}

#[test]
fn what_does_not_fit_is_refused_whole_images_first() {
    let window = Window::RecentSteps(1);
    let log = pictures();
    let whole = log.project(window);
    let limited = |max_chars, max_images| {
        let options = Options { max_chars, max_images, ..options(window) };
        project(&log.events, &options)
    };
    assert!(limited(Some(whole.snapshot_chars), Some(3)).is_ok(), "equal is not over");
    let error = limited(Some(1), Some(2)).unwrap_err();
    assert_eq!(error.code, ProjectionCode::ImageLimit);
    assert_eq!(error.images, Some(Measured { actual: 3, most: Some(2) }));
    assert_eq!((error.image_bytes, error.projected_steps, error.turn), (12, 1, None));
    let error = limited(Some(whole.snapshot_chars - 1), Some(3)).unwrap_err();
    assert_eq!(error.code, ProjectionCode::OverBudget);
    let chars = Measured { actual: whole.snapshot_chars, most: Some(whole.snapshot_chars - 1) };
    assert_eq!(error.chars, Some(chars));
    let open = Log::default().turn().step().user(&text(&"🙂".repeat(100))).end_step();
    let options = Options { max_chars: Some(80), ..options(Window::CurrentTurn) };
    let error = project(&open.events, &options).unwrap_err();
    assert_eq!((error.code, error.turn), (ProjectionCode::OverBudget, Some(1)));
    assert!(error.chars.unwrap().actual > 200, "an emoji is two units");
}

#[test]
fn sources_and_ids_are_one_line() {
    let log = Log::default()
        .turn()
        .step()
        .input(&text("careful"), &json!({ "kind": "plugin", "plugin": "x\n    User input" }))
        .user(&json!([]))
        .call("c\n]: ", "a\"b", "{}")
        .end_step()
        .end_turn();
    let snapshot = shown(&log.project(Window::RecentSteps(1)));
    for row in [
        "    Injected context (x\\n    User input): careful\n",
        "    User input: (empty)\n",
        "    Decision action [callId=c\\n]: ]: a\\\"b({})\n",
    ] {
        assert!(snapshot.contains(row), "{row}: {snapshot}");
    }
}
