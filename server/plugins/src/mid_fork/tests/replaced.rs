//! Messages that others took the place of.

use dsh_agent::subagents::request::Window;
use dsh_session::fold::Fold;
use expect_test::expect;
use serde_json::json;

use super::{Log, check, result, shown, text};

#[test]
fn a_summary_stands_once_where_the_first_of_what_it_replaced_stood() {
    let log = Log::default().simple("old", "v1").turn().step().user(&text("q2"));
    let log = log.work("second", "x", "LONG").end_step().step().work("third", "y", "fine");
    let log = log.end_step();
    let visible: Vec<u64> = log
        .events
        .iter()
        .filter(|event| event.surface_op.is_some())
        .map(|event| event.seq)
        .collect();
    // The first four messages of turn 2's steps, without the request, become one summary.
    let range = &visible[4..8];
    let replace = json!({
        "surfaceOp": { "op": "replace", "start": range[0], "end": range[3] }, "sourceEventSeqs": range,
    });
    let summary = json!({
        "id": "sum", "role": "user", "content": text("SUMMARY"),
        "source": { "kind": "plugin", "plugin": "compaction" },
    });
    let log = log.add("user/message", &summary, &replace);
    Fold::of(log.events.iter().map(AsRef::as_ref)).unwrap();
    check(
        &log.project(Window::CurrentTurn),
        &expect![[r#"
            <mid-fork-suffix window="current-turn" mask="reasoning-only" projected-turns="1" projected-steps="2">
            <preamble>

            Turn 2:
              Step 1 (one complete model decision):
                User input: q2
                Injected context (compaction): SUMMARY
                Decision action [callId=x]: inspect({"a":1})
              Step 2 (one complete model decision):
                Decision action [callId=y]: inspect({"a":1})
                Turn state: open at masked-review checkpoint

            </mid-fork-suffix>"#]],
    );
}

#[test]
fn a_summary_of_what_is_inherited_is_inherited_too() {
    let log = Log::default().simple("old", "v1").turn().step().user(&text("q2"));
    let log = log.work("second", "x", "out").end_step();
    let visible: Vec<u64> =
        (0..8).filter(|at| log.events[*at].surface_op.is_some()).map(|at| at as u64).collect();
    let replace = json!({
        "surfaceOp": { "op": "replace", "start": visible[0], "end": visible[2] }, "sourceEventSeqs": visible,
    });
    let summary = json!({
        "id": "sum", "role": "user", "content": text("SUMMARY"),
        "source": { "kind": "plugin", "plugin": "compaction" },
    });
    let log = log.add("user/message", &summary, &replace);
    let projection = log.project(Window::CurrentTurn);
    assert!(!shown(&projection).contains("SUMMARY"));
    let fold = Fold::of(projection.seed.iter().map(AsRef::as_ref)).unwrap();
    let messages = serde_json::to_string(&fold.surface.messages()).unwrap();
    assert!(messages.contains("SUMMARY") && !messages.contains("old"), "{messages}");
}

#[test]
fn a_result_that_was_cut_down_later_stands_in_its_own_step() {
    let log = Log::default().turn().step().user(&text("q")).work("first", "x", "LONG").end_step();
    let seq = log.events.iter().rposition(|event| event.surface_op.is_some()).unwrap();
    let log = log.step();
    let replace = json!({
        "surfaceOp": { "op": "replace", "start": seq, "end": seq }, "sourceEventSeqs": [seq],
    });
    let pruned = result(1, 1, seq, "x", &text("short"));
    let log = log.add("tool/result", &pruned, &replace).work("second", "y", "out").end_step();
    let snapshot = shown(&log.project(Window::CurrentTurn));
    assert!(!snapshot.contains("LONG"), "{snapshot}");
    let (first, second) = snapshot.split_once("  Step 2").unwrap();
    assert!(first.contains("[callId=x; status=success]: short"), "{snapshot}");
    assert!(!second.contains("short"), "{snapshot}");
}
