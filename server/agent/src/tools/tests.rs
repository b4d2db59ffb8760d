//! Whatever happens in a tool, its call has an outcome and its neighbours go on.

use std::sync::Arc;
use std::time::Duration;

use dsh_protocol::content::visible_text;
use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::workspace::ToolErrorCode;
use dsh_session::store::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;

/// Does what its arguments say.
struct Odd(ToolDefinition);

impl Odd {
    fn tool(name: &str) -> Arc<dyn Tool> {
        let definition = ToolDefinition {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({}),
        };
        Arc::new(Self(definition))
    }
}

impl Tool for Odd {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            match arguments["do"].as_str() {
                Some("panic") => panic!("told to"),
                Some("fail") => Err(ToolFailure::new(ToolErrorCode::FsNotFound, "no such file")),
                Some("hang") => std::future::pending().await,
                Some("stop when cancelled") => {
                    cx.cancel.cancelled().await;
                    Ok(done("partial"))
                }
                Some(_) | None => Ok(done("done")),
            }
        })
    }
}

fn done(text: &str) -> ToolOutput {
    ToolOutput { text: text.to_owned(), value: json!(text), notes: Vec::new() }
}

fn tools() -> (Tools, Registration) {
    let tools = Tools::default();
    let registration = tools.register(Odd::tool("odd")).unwrap();
    (tools, registration)
}

async fn outcome(how: &str, cancel: &CancellationToken) -> (String, Option<ToolErrorCode>) {
    let (tools, _kept) = tools();
    let outcome = tools.call(About::default(), "odd", json!({ "do": how }), cancel).await;
    assert_eq!(outcome.is_error, outcome.value.is_none());
    (visible_text(&outcome.content), outcome.error.map(|error| error.code))
}

#[tokio::test(start_paused = true)]
async fn every_way_to_end_has_its_outcome() {
    let never = CancellationToken::new();
    assert_eq!(outcome("work", &never).await, ("done".to_owned(), None));
    let (text, code) = outcome("fail", &never).await;
    assert_eq!((text.as_str(), code), ("Error: no such file", Some(ToolErrorCode::FsNotFound)));
    let (text, code) = outcome("panic", &never).await;
    assert!(text.starts_with("Error: ") && !text.contains("told to") && code.is_none(), "{text}");
    assert_eq!(outcome("hang", &never).await.1, Some(ToolErrorCode::ToolTimeout));
    // A tool that hands in what it has when its time is up is heard.
    assert_eq!(outcome("stop when cancelled", &never).await, ("partial".to_owned(), None));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_says_whether_it_had_begun() {
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert_eq!(outcome("work", &cancelled).await.1, Some(ToolErrorCode::AbortedBeforeDispatch));
    for how in ["hang", "stop when cancelled"] {
        let cancel = CancellationToken::new();
        let (outcome, ()) = tokio::join!(outcome(how, &cancel), async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            cancel.cancel();
        });
        assert_eq!(outcome.1, Some(ToolErrorCode::Aborted), "{how}");
    }
}

#[tokio::test]
async fn unknown_tools_and_arguments_that_are_no_object_are_refused() {
    let (tools, _kept) = tools();
    let never = CancellationToken::new();
    let unknown = tools.call(About::default(), "nobody", json!({}), &never).await;
    assert_eq!(unknown.error.map(|error| error.code), Some(ToolErrorCode::UnknownTool));
    assert!(visible_text(&unknown.content).contains("`odd`"));
    for arguments in [json!("text"), json!([1]), json!(7)] {
        let refused = tools.call(About::default(), "odd", arguments, &never).await;
        assert_eq!(refused.error.map(|error| error.code), Some(ToolErrorCode::InvalidArgs));
    }
    assert!(!tools.call(About::default(), "odd", Value::Null, &never).await.is_error);
}

#[test]
fn what_a_model_writes_as_arguments_is_never_repaired() {
    for nothing in ["", " ", "\n"] {
        assert_eq!(parse_arguments(nothing), Ok(json!({})));
    }
    assert_eq!(parse_arguments("null"), Ok(Value::Null));
    let failure = parse_arguments(r#"{"pattern":"x","#).unwrap_err();
    assert_eq!(failure.code, ToolErrorCode::InvalidArgs);
}

#[test]
fn dropping_a_registration_removes_the_tool() {
    let (tools, kept) = tools();
    assert!(tools.register(Odd::tool("odd")).is_err());
    drop(kept);
    assert!(tools.list().is_empty() && tools.definitions().is_empty());
}
