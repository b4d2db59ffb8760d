//! Whole turns over a small folder in memory: the steps, the answer, and whether its citations hold.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dsh_agent::files::{Answer, Visit};
use dsh_agent::tool::ToolFailure;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::ids::{CallId, MessageId, SessionId};
use dsh_protocol::message::{Message, Role, Source};
use dsh_protocol::session::Header;
use dsh_protocol::tool::ToolDefinition;
use dsh_protocol::workspace::{
    GlobArguments, GlobValue, GrepArguments, GrepMatch, GrepValue, ReadArguments,
};
use dsh_session::store::BoxFuture;
use serde_json::json;

use super::*;

/// A workspace of a few files.
struct Files(BTreeMap<&'static str, &'static str>);

impl Files {
    fn grep(&self, arguments: &GrepArguments) -> Vec<GrepMatch> {
        let pattern = match arguments.fixed_strings {
            Some(true) => regex::escape(&arguments.pattern),
            Some(false) | None => arguments.pattern.clone(),
        };
        let pattern = Regex::new(&pattern).unwrap();
        let lines = self
            .0
            .iter()
            .flat_map(|(path, text)| (1..).zip(text.lines()).map(move |line| (path, line)));
        let hits = lines.filter(|(_, (_, text))| pattern.is_match(text));
        hits.map(|(path, (line, text))| GrepMatch {
            path: (*path).to_owned(),
            line,
            column: 1,
            text: text.to_owned(),
            before: Vec::new(),
            after: Vec::new(),
        })
        .collect()
    }

    fn run(&self, tool: &str, arguments: &str) -> String {
        match tool {
            "grep" => {
                let arguments: GrepArguments = serde_json::from_str(arguments).unwrap();
                let matches = self.grep(&arguments);
                let mut text = format!("Found {} matches\n", matches.len());
                let limit = usize::try_from(arguments.limit.unwrap_or(100)).unwrap();
                for found in matches.into_iter().take(limit) {
                    let _ =
                        writeln!(text, "{}\n  Line {}: {}\n", found.path, found.line, found.text);
                }
                text
            }
            "glob" => {
                let glob: GlobArguments = serde_json::from_str(arguments).unwrap();
                let stem = glob.pattern.trim_start_matches("**/").trim_end_matches('*');
                let paths: Vec<&str> =
                    self.0.keys().copied().filter(|path| path.contains(stem)).collect();
                if paths.is_empty() { "No files found".to_owned() } else { paths.join("\n") }
            }
            _ => {
                let read: ReadArguments = serde_json::from_str(arguments).unwrap();
                let mut text =
                    format!("<path>{}</path>\n<type>file</type>\n<content>\n", read.file_path);
                let (offset, limit) = (read.offset.unwrap_or(1), read.limit.unwrap_or(2000));
                for (number, line) in (1u64..).zip(self.0[read.file_path.as_str()].lines()) {
                    if (offset..offset + limit).contains(&number) {
                        let _ = writeln!(text, "{number}: {line}");
                    }
                }
                text + "\n(End of file.)\n</content>"
            }
        }
    }
}

impl Search for Files {
    fn grep(
        &self,
        arguments: GrepArguments,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<GrepValue>, ToolFailure>> {
        let mut matches = Files::grep(self, &arguments);
        let total = matches.len() as u64;
        let limit = arguments.limit.unwrap_or(100);
        matches.truncate(usize::try_from(limit).unwrap());
        let value = GrepValue {
            total,
            truncated: total > limit,
            matches: Some(matches),
            ..GrepValue::default()
        };
        Box::pin(async { Ok(Answer { value, notes: Vec::new() }) })
    }

    fn glob(
        &self,
        _arguments: GlobArguments,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<GlobValue>, ToolFailure>> {
        let value = GlobValue { paths: Vec::new(), total: 0, truncated: false };
        Box::pin(async { Ok(Answer { value, notes: Vec::new() }) })
    }

    fn scan(
        &self,
        visit: Visit,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<(), ToolFailure>> {
        for (path, text) in &self.0 {
            visit(path, text);
        }
        Box::pin(async { Ok(()) })
    }
}

const FILES: &[(&str, &str)] = &[
    ("README.md", "# Courier\n\nDelivers `parcels`, and tries again when a door is shut.\n"),
    (
        "src/courier.rs",
        "//! Brings parcels.\n\n/// How long to wait before the next attempt.\npub fn retry_delay(attempt: u32) -> u64 {\n    1 << attempt\n}\n\npub enum Door {\n    Open,\n    Shut,\n}\n",
    ),
    (
        "src/main.rs",
        "use courier::retry_delay;\n\nfn main() {\n    let wait = retry_delay(1);\n}\n",
    ),
];

fn message(role: Role, content: Vec<ContentBlock>, source: Source) -> Arc<Message> {
    Arc::new(Message { id: MessageId::from("m"), role, content, source, client_message_id: None })
}

fn request(messages: &[Arc<Message>], step: u64, tools: &[&str]) -> Request {
    let tools = tools.iter().map(|name| ToolDefinition {
        name: (*name).to_owned(),
        description: String::new(),
        input_schema: json!({}),
    });
    let header = Header {
        provider: "offline".to_owned(),
        model: "retrieval".to_owned(),
        reasoning_effort: None,
        max_tokens: None,
        system: None,
        tools: Some(tools.collect()),
    };
    Request {
        attempt: 1,
        session_id: SessionId::from("s"),
        turn: 1,
        step,
        header: Arc::new(header),
        messages: messages.to_vec(),
        body: None,
    }
}

/// The calls of a turn by name, and its answer.
async fn turn(prompt: &str, tools: &[&str]) -> (String, String) {
    turn_in(FILES, prompt, tools).await
}

async fn turn_in(
    files: &[(&'static str, &'static str)],
    prompt: &str,
    tools: &[&str],
) -> (String, String) {
    let files = Arc::new(Files(files.iter().copied().collect()));
    let adapter = Retrieval::new(Arc::clone(&files) as Arc<dyn Search>, None);
    let mut messages = vec![message(Role::User, vec![ContentBlock::text(prompt)], Source::User)];
    let (mut steps, mut answer) = (Vec::new(), String::new());
    for step in 1..6 {
        let mut calls: Vec<(CallId, String, String)> = Vec::new();
        let mut chunks = adapter.stream(request(&messages, step, tools), CancellationToken::new());
        let mut end = None;
        while let Some(chunk) = chunks.next().await {
            match chunk {
                Chunk::BlockStart { id: Some(id), name: Some(name), .. } => {
                    calls.push((id, name, String::new()));
                }
                Chunk::ToolCallDelta { arguments_delta, .. } => {
                    calls.last_mut().unwrap().2.push_str(&arguments_delta);
                }
                Chunk::TextDelta { text, .. } => answer.push_str(&text),
                Chunk::Finish { reason, .. } => end = Some(reason),
                Chunk::BlockStart { .. }
                | Chunk::ReasoningDelta { .. }
                | Chunk::BlockEnd { .. }
                | Chunk::Usage { .. } => {}
            }
        }
        if calls.is_empty() {
            assert_eq!(end, Some(FinishReason::Stop));
            return (steps.join(" | "), answer);
        }
        assert_eq!(end, Some(FinishReason::ToolCalls));
        steps.push(calls.iter().map(|(_, name, _)| name.as_str()).collect::<Vec<_>>().join(" "));
        let asked = calls.iter().map(|(id, name, arguments)| ContentBlock::ToolCall {
            id: id.clone(),
            name: name.clone(),
            arguments: arguments.clone(),
        });
        let source =
            Source::Model { provider: "offline".to_owned(), model: "retrieval".to_owned() };
        messages.push(message(Role::Assistant, asked.collect(), source));
        for (id, name, arguments) in calls {
            let content = vec![ContentBlock::text(files.run(&name, &arguments))];
            let result =
                ContentBlock::ToolResult { tool_call_id: id.clone(), content, is_error: None };
            messages.push(message(Role::Tool, vec![result], Source::Tool { call_id: id }));
        }
    }
    panic!("the turn does not end: {steps:?}");
}

const TOOLS: &[&str] = &["read", "grep", "glob"];

/// Every place that an answer names with the text beside it; fails unless the text stands there.
fn citations(answer: &str) -> Vec<String> {
    let files: BTreeMap<&str, &str> = FILES.iter().copied().collect();
    let cited = Regex::new(r"`([^`]+):(\d+)`(?:: `([^`]*)`)?").unwrap();
    let mut places = Vec::new();
    for found in cited.captures_iter(answer) {
        let (path, line): (&str, usize) =
            (found.get(1).unwrap().as_str(), found[2].parse().unwrap());
        let text = files[path].lines().nth(line - 1).unwrap();
        assert!(
            text.contains(found.get(3).map_or("", |quote| quote.as_str())),
            "{path}:{line}: {answer}"
        );
        places.push(format!("{path}:{line}"));
    }
    let blocks = Regex::new(r"(?s)From `([^`]+):(\d+)`:\n```\w*\n(.*?)```").unwrap();
    for found in blocks.captures_iter(answer) {
        let first: usize = found[2].parse().unwrap();
        for (at, line) in (first..).zip(found[3].lines()) {
            assert_eq!(files[&found[1]].lines().nth(at - 1), Some(line), "{answer}");
        }
    }
    places
}

#[tokio::test]
async fn a_definition_is_found_read_and_cited_with_its_comment() {
    let (steps, answer) = turn("where is retry_delay defined?", TOOLS).await;
    assert_eq!(steps, "grep | read");
    assert_eq!(citations(&answer)[0], "src/courier.rs:4");
    assert!(answer.contains("From `src/courier.rs:3`:\n```rs\n/// How long"), "{answer}");
    assert!(answer.contains("`src/main.rs:4`: `let wait = retry_delay(1);`"), "{answer}");
}

#[tokio::test]
async fn callers_come_first_when_they_are_asked_for() {
    let (_, answer) = turn("who calls retry_delay?", TOOLS).await;
    assert_eq!(citations(&answer)[0], "src/main.rs:4");
}

#[tokio::test]
async fn prose_is_answered_with_passages() {
    let (steps, answer) = turn("how long does it wait before the next attempt?", TOOLS).await;
    assert!(steps.starts_with("read"), "{steps}");
    assert!(citations(&answer)[0].starts_with("src/courier.rs:"), "{answer}");
}

#[tokio::test]
async fn an_unknown_name_is_not_found_and_nothing_is_cited() {
    let (steps, answer) = turn("where is frobnicate_parcel defined?", TOOLS).await;
    assert_eq!(steps, "grep | grep");
    assert!(answer.contains("`frobnicate_parcel` was not found"), "{answer}");
    assert!(citations(&answer).is_empty());
}

#[tokio::test]
async fn a_common_name_without_a_definition_is_used_and_not_unknown() {
    let some: &str = Box::leak("    poll(Poll::Ready(x));\n".repeat(900).into_boxed_str());
    let many: &str = Box::leak("    poll(Poll::Ready(x));\n".repeat(9000).into_boxed_str());
    let wide: &str = Box::leak("static a: x = Poll, Ready + 1;\n".repeat(900).into_boxed_str());
    for text in [some, many, wide] {
        let files = [("a/x.rs", text), ("z/y.rs", "fn rare() {\n    scarce(1);\n}\n")];
        for prompt in
            ["where is `Poll` defined?", "where is Poll::Ready defined?", "who calls `Poll`?"]
        {
            for tools in [TOOLS, &[]] {
                let (steps, answer) = turn_in(&files, prompt, tools).await;
                assert!(answer.contains("No definition of"), "{prompt}: {steps}: {answer}");
                assert!(answer.contains("is used here:\n\n- `a/x.rs:1`"), "{prompt}: {answer}");
                assert!(!answer.contains("not found in"), "{prompt}: {answer}");
            }
        }
        let (_, answer) = turn_in(&files, "compare `Poll` and `scarce`", TOOLS).await;
        assert!(answer.contains("z/y.rs:2"), "{answer}");
        assert!(!answer.contains("not found in"), "{answer}");
    }
}

#[tokio::test]
async fn an_import_and_an_implementation_are_uses() {
    let files = [
        ("a.rs", "use std::sync::{\n    Arc,\n    Mutex,\n};\n"),
        ("b.rs", "impl Mutex for X {}\n"),
    ];
    let (_, answer) = turn_in(&files, "where is `Arc` defined?", TOOLS).await;
    assert!(answer.contains("No definition of `Arc` was found in"), "{answer}");
    assert!(answer.contains("is used here:\n\n- `a.rs:2`"), "{answer}");
    let (_, answer) = turn_in(&files[1..], "where is `Mutex` defined?", TOOLS).await;
    assert!(answer.contains("is used here:\n\n- `b.rs:1`"), "{answer}");
}

#[tokio::test]
async fn it_does_without_tools() {
    for prompt in
        ["where is retry_delay defined?", "how long does it wait before the next attempt?"]
    {
        let (steps, answer) = turn(prompt, &[]).await;
        assert_eq!(steps, "");
        assert!(
            citations(&answer).iter().any(|place| place.starts_with("src/courier.rs:")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn files_and_the_project_are_shown_from_their_beginning() {
    let (steps, answer) = turn("where is courier.rs?", TOOLS).await;
    assert_eq!(steps, "glob | read");
    assert_eq!(citations(&answer), ["src/courier.rs:1"]);
    let (_, answer) = turn("what is this project?", TOOLS).await;
    assert_eq!(citations(&answer), ["README.md:1"]);
}

#[tokio::test]
async fn a_line_of_a_file_is_shown_with_what_is_around_it() {
    let text: &str = Box::leak((1..400).map(|n| format!("line {n}\n")).collect());
    let (steps, answer) = turn_in(&[("src/long.rs", text)], "src/long.rs:165", TOOLS).await;
    assert_eq!(steps, "glob | read");
    assert!(answer.contains("\nline 165\n"), "{answer}");
    assert!(!answer.contains("\nline 1\n"), "{answer}");
    let (_, answer) = turn_in(&[("src/long.rs", text)], "src/long.rs:900", TOOLS).await;
    assert!(answer.contains("Line 900 could not be shown"), "{answer}");
}

#[tokio::test]
async fn small_talk_is_answered_without_a_search() {
    let (steps, answer) = turn("hello!", TOOLS).await;
    assert_eq!(steps, "");
    assert!(answer.contains("no language model is configured"), "{answer}");
}

#[tokio::test]
async fn a_cancelled_request_ends_as_aborted() {
    let adapter = Retrieval::new(Arc::new(Files(FILES.iter().copied().collect())), None);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let messages = [message(Role::User, vec![ContentBlock::text("where is main?")], Source::User)];
    let chunks: Vec<Chunk> = adapter.stream(request(&messages, 1, TOOLS), cancel).collect().await;
    let [Chunk::Finish { reason: FinishReason::Aborted, .. }] = chunks.as_slice() else {
        panic!("{chunks:?}");
    };
}
