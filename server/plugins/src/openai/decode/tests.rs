//! Streams in, answers out, wherever the bytes are cut.

use std::collections::VecDeque;
use std::fmt::Write as _;

use dsh_llm::sse::{MAX_EVENT_BYTES, Parser};
use dsh_mock_model::answer::Answer;
use dsh_protocol::ids::CallId;
use serde_json::json;

use super::*;
use crate::openai::dialect;

fn asked(dialect: &str) -> Asked {
    let dialect = dialect::named(dialect).unwrap();
    Asked { provider: "p".into(), dialect, context_window: Some(64), tools: true }
}

fn decoded(asked: &Asked, pieces: &[&[u8]]) -> Vec<Chunk> {
    let mut parser = Parser::new(MAX_EVENT_BYTES);
    let mut events = VecDeque::new();
    for piece in pieces {
        parser.push(piece, &mut events).unwrap();
    }
    events.extend(parser.end());
    let mut decoder = Decoder::new(asked.clone());
    let mut chunks = Vec::new();
    let over = events.iter().any(|event| decoder.event(event, &mut chunks) == Flow::Over);
    if !over {
        decoder.end(&mut chunks);
    }
    chunks
}

/// The blocks in their order, one a line, then the cost and the finish.
fn shown(chunks: &[Chunk]) -> String {
    let mut blocks: Vec<String> = Vec::new();
    let mut open: Vec<u32> = Vec::new();
    let mut rest = String::new();
    for chunk in chunks {
        match chunk {
            Chunk::BlockStart { index, block, id, name } => {
                assert_eq!(*index as usize, blocks.len(), "blocks are numbered in their order");
                open.push(*index);
                let id = id.as_ref().map_or("?", CallId::as_str);
                blocks.push(match block {
                    BlockKind::Text => "text ".to_owned(),
                    BlockKind::Reasoning => "reasoning ".to_owned(),
                    BlockKind::ToolCall => format!("call {id} {} ", name.as_ref().unwrap()),
                });
            }
            Chunk::TextDelta { index, text }
            | Chunk::ReasoningDelta { index, text }
            | Chunk::ToolCallDelta { index, arguments_delta: text } => {
                assert!(open.contains(index), "a delta of a block that is not open");
                blocks[*index as usize].push_str(text);
            }
            Chunk::BlockEnd { index } => {
                assert!(open.contains(index), "a block ends twice");
                open.retain(|open| open != index);
            }
            Chunk::Usage { usage } => {
                let Usage { input_tokens, output_tokens, context_window, .. } = usage;
                writeln!(rest, "usage {input_tokens} {output_tokens} of {context_window:?}")
                    .unwrap();
            }
            Chunk::Finish { reason, error } => {
                write!(rest, "{reason:?}").unwrap();
                if let Some(error) = error {
                    write!(rest, " {}", error.code).unwrap();
                }
            }
        }
    }
    assert!(open.is_empty(), "blocks without end: {open:?}");
    assert!(matches!(chunks.last(), Some(Chunk::Finish { .. })), "the finish is last");
    blocks.push(rest);
    blocks.join("\n")
}

/// What becomes of an answer of some dialect, wherever it is cut.
fn check_as(dialect: &str, answer: Answer, expected: &str) {
    let (asked, body) = (asked(dialect), answer.into_body());
    assert_eq!(shown(&decoded(&asked, &[&body])), expected);
    let whole = decoded(&asked, &[&body]);
    for cut in 0..body.len() {
        let (before, after) = body.split_at(cut);
        assert_eq!(decoded(&asked, &[before, after]), whole, "cut at {cut}");
    }
    assert_eq!(decoded(&asked, &body.chunks(1).collect::<Vec<_>>()), whole, "byte by byte");
}

fn check(answer: Answer, expected: &str) {
    check_as("deepseek", answer, expected);
}

fn s() -> Answer {
    Answer::stream()
}

#[test]
fn text_arrives_whole() {
    check(s().delta("你好🙂").delta(" a").finish("stop").done(), "text 你好🙂 a\nStop");
    let raw =
        b"\xEF\xBB\xBFdata:{\"choices\":\r\ndata:[{\"delta\":{\"content\":\"a\xffb\"}}]}\r\n\r\n";
    check(s().raw(raw).finish("stop").done(), "text a\u{fffd}b\nStop");
    check(s().delta("a").finish("stop").raw("data: [DONE]"), "text a\nStop");
    check(s().keep_alive().delta("a").raw("\n\n: x\n\n").finish("stop").done(), "text a\nStop");
    let parts = json!({ "content": [{ "type": "text", "text": "a" }, { "text": "b" }] });
    check(s().delta_of(&parts).finish("stop").done(), "text ab\nStop");
}

#[test]
fn an_answer_is_complete_with_its_reason_or_its_mark() {
    check(s().delta("half"), "text half\nError STREAM_CLOSED");
    check(s(), "\nError STREAM_CLOSED".trim_start());
    check(s().delta("ok").finish("stop"), "text ok\nStop");
    check(s().delta("ok").done(), "text ok\nStop");
    check(s().delta("ok").done().delta("late"), "text ok\nStop");
    let cut = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n";
    check(s().delta("ok").raw(cut), "text ok\nStop");
    check(s().delta("ok").raw(&cut[..40]), "text ok\nError STREAM_CLOSED");
    check(s().delta("ok").finish("stop").raw("data: {\"cho"), "text ok\nStop");
}

#[test]
fn calls_that_come_interleaved_are_told_apart() {
    let answer = s()
        .tool_call(0, "a", "read", "{\"file_")
        .tool_call(1, "b", "grep", "{")
        .tool_call(0, "", "", "path\":\"x\"}")
        .tool_call(2, "c", "glob", "{}")
        .tool_call(1, "", "", "}");
    let expected = "call a read {\"file_path\":\"x\"}\ncall b grep {}\ncall c glob {}\nToolCalls";
    check(answer.clone().finish("tool_calls").done(), expected);
    check(answer.finish("stop").done(), expected);
    let backwards = s().tool_call(1, "b", "grep", "{}").tool_call(0, "a", "read", "{}");
    check(backwards.done(), "call a read {}\ncall b grep {}\nToolCalls");
}

#[test]
fn arguments_may_be_cut_inside_an_escape() {
    let answer =
        s().tool_call(0, "a", "read", "{\"file_path\":\"\\u4f").tool_call(0, "", "", "60.txt\"}");
    check(answer.done(), "call a read {\"file_path\":\"\\u4f60.txt\"}\nToolCalls");
}

#[test]
fn names_and_ids_come_late_again_or_never() {
    let named = |name: Value, arguments: &str| json!({ "tool_calls": [{ "index": 0, "function": { "name": name, "arguments": arguments } }] });
    let late = s()
        .tool_call(0, "a", "", "")
        .delta_of(&named(Value::Null, ""))
        .tool_call(0, "", "read", "{}");
    check(late.done(), "call a read {}\nToolCalls");
    let again = s().tool_call(0, "a", "read", "{").tool_call(0, "a", "read", "}");
    check(again.done(), "call a read {}\nToolCalls");
    check(s().delta_of(&named(json!(""), "{}")).done(), "call ?  {}\nToolCalls");
    check(s().delta_of(&named(json!("Read"), "{}")).done(), "call ? Read {}\nToolCalls");
    let nameless = s().tool_call(0, "", "read", "{}").tool_call(1, "", "read", "{}");
    check(nameless.done(), "call ? read {}\ncall ? read {}\nToolCalls");
}

#[test]
fn calls_under_one_index_or_under_none_are_told_apart() {
    let same = s().tool_call(0, "a", "read", "{}").tool_call(0, "b", "grep", "{}");
    check(same.done(), "call a read {}\ncall b grep {}\nToolCalls");
    let bare = |id: &str, name: &str, arguments: Value| json!({ "tool_calls": [{ "id": id, "function": { "name": name, "arguments": arguments } }] });
    let answer = s()
        .delta_of(&bare("a", "read", json!("{")))
        .delta_of(&bare("", "", json!("}")))
        .delta_of(&bare("b", "grep", json!({ "pattern": "x" })));
    check(answer.done(), "call a read {}\ncall b grep {\"pattern\":\"x\"}\nToolCalls");
}

#[test]
fn arguments_are_never_repaired() {
    let finished =
        |arguments: &str| s().tool_call(0, "a", "grep", arguments).finish("tool_calls").done();
    check(finished("{\"pattern\":\"x\","), "call a grep {\"pattern\":\"x\",\nToolCalls");
    check(finished(""), "call a grep \nToolCalls");
    check(finished(" "), "call a grep  \nToolCalls");
    let null = json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "grep", "arguments": null } }] });
    check(s().delta_of(&null).done(), "call a grep \nToolCalls");
}

#[test]
fn each_reason_has_its_finish() {
    for (reason, finish) in [
        ("stop", "Stop"),
        ("tool_calls", "Stop"),
        ("length", "MaxTokens"),
        ("content_filter", "Error CONTENT_FILTER"),
        ("insufficient_system_resource", "Error SERVER"),
        ("some new reason", "Error SOME_NEW_REASON"),
        ("", "Stop"),
    ] {
        check(s().delta("a").finish(reason).done(), &format!("text a\n{finish}"));
    }
    check(
        s().tool_call(0, "a", "read", "{\"f").finish("length").done(),
        "call a read {\"f\nMaxTokens",
    );
}

#[test]
fn an_answer_without_anything_visible_is_empty() {
    check(s().finish("stop").done(), "Error EMPTY_RESPONSE");
    check(s().delta("").done(), "Error EMPTY_RESPONSE");
    check(s().delta("\n").done(), "text \n\nError EMPTY_RESPONSE");
    check(s().reasoning("hm").finish("stop").done(), "reasoning hm\nError EMPTY_RESPONSE");
    check(s().reasoning("hm").finish("length").done(), "reasoning hm\nMaxTokens");
}

#[test]
fn reasoning_is_told_from_text_whatever_its_field() {
    let both = json!({ "reasoning_content": "r", "content": "c" });
    check(s().delta_of(&both).done(), "reasoning r\ntext c\nStop");
    check(
        s().delta_of(&json!({ "reasoning": "r" })).delta("c").done(),
        "reasoning r\ntext c\nStop",
    );
    let twice = json!({ "reasoning_content": "r", "reasoning": "r" });
    check(s().delta_of(&twice).delta("c").done(), "reasoning r\ntext c\nStop");
    let mixed = s().reasoning("").reasoning("a").delta("b").reasoning("c").delta("d");
    check(mixed.done(), "reasoning a\ntext b\nreasoning c\ntext d\nStop");
    let null = json!({ "reasoning_content": null, "content": "c" });
    check(s().delta_of(&null).done(), "text c\nStop");
    let tags = s().delta("<thi").delta("nk>r</th").delta("ink>\n\nc");
    check(tags.done(), "reasoning r\ntext c\nStop");
    check(
        s().reasoning("r").tool_call(0, "a", "read", "{}").done(),
        "reasoning r\ncall a read {}\nToolCalls",
    );
}

#[test]
fn the_cost_may_come_anywhere() {
    let usage = |output: u64| json!({ "prompt_tokens": 5, "completion_tokens": output });
    let last = s().usage(&Value::Null).usage(&usage(1)).delta("a").finish("stop").usage(&usage(2));
    check(last.done(), "text a\nusage 5 2 of Some(64)\nStop");
    check(
        s().delta("a").finish("stop").usage(&json!({ "prompt_tokens": -5 })).done(),
        "text a\nStop",
    );
    let of_choice = json!({ "choices": [{ "delta": { "content": "a" }, "usage": usage(3) }] });
    check(s().event(&of_choice).done(), "text a\nusage 5 3 of Some(64)\nStop");
    check(
        s().usage(&usage(1)).delta("half"),
        "text half\nusage 5 1 of Some(64)\nError STREAM_CLOSED",
    );
}

#[test]
fn an_error_inside_a_stream_ends_it() {
    let error = json!({ "error": { "message": "overloaded", "code": 529 } });
    check(s().delta("a").event(&error).delta("b").done(), "text a\nError SERVER");
    check(
        s().raw("event: error\ndata: {\"message\":\"slow\",\"code\":429}\n\n"),
        "Error RATE_LIMIT",
    );
    check(s().raw("event: error\ndata: out of order\n\n"), "Error SERVER");
    check(s().delta("a").event(&json!({ "error": null })).done(), "text a\nStop");
    check(s().delta("a").finish("stop").event(&error), "text a\nStop");
    check(
        s().delta("a").raw("data: <html>oh</html>\n\n").done(),
        "text a\nError MALFORMED_RESPONSE",
    );
}

#[test]
fn what_is_no_part_of_the_answer_is_ignored() {
    let other = json!({ "choices": [{ "index": 1, "delta": { "content": "no" } }] });
    let answer =
        s().event(&json!({ "choices": [] })).event(&json!({})).event(&json!(null)).event(&other);
    check(answer.raw("data:\n\n").delta("a").done(), "text a\nStop");
    let odd = json!({ "choices": [{ "delta": null, "finish_reason": null }] });
    check(s().event(&odd).event(&json!({ "choices": null })).delta("a").done(), "text a\nStop");
}

#[test]
fn calls_written_as_text_are_malformed() {
    let leak = "Let me see.\n<｜tool▁calls▁begin｜>";
    check(s().delta(leak).done(), &format!("text {leak}\nError MALFORMED_RESPONSE"));
    let tag = "\n<tool_call>{}</tool_call>";
    check_as("ollama", s().delta(tag).done(), &format!("text {tag}\nError MALFORMED_RESPONSE"));
    let talk = "the tag <tool_call> begins a call";
    check_as("ollama", s().delta(talk).done(), &format!("text {talk}\nStop"));
    let none = Asked { tools: false, ..asked("deepseek") };
    assert!(shown(&decoded(&none, &[&s().delta(leak).done().into_body()])).ends_with("Stop"));
}

#[test]
fn a_message_that_was_not_streamed_is_read_as_well() {
    let message = json!({ "role": "assistant", "content": "a", "tool_calls": null });
    let whole = json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] });
    check(s().event(&whole), "text a\nStop");
}

#[test]
fn a_damaged_stream_still_ends_with_one_finish() {
    let whole = s()
        .reasoning("r")
        .delta("<think>t</think>c")
        .tool_call(0, "a", "read", "{}")
        .tool_call(1, "b", "grep", "{\"p\":1}")
        .finish("tool_calls")
        .usage(&json!({ "prompt_tokens": 5, "completion_tokens": 2 }))
        .done()
        .into_body();
    let asked = asked("deepseek");
    for at in 0..whole.len() {
        shown(&decoded(&asked, &[&whole[..at]]));
        for byte in *b"\n\r:\"{}[]0-e\xff\x00" {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            shown(&decoded(&asked, &[&damaged]));
        }
    }
}
