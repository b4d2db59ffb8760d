//! Row `spill-policy`: a result that is too long for the conversation is shown in part and kept whole.
//!
//! The model reads the rest with `read`, by the name that it is told. What is kept lies in a private folder of this
//! process and goes with it; a session's oldest results make room for new ones.

mod store;

use std::sync::Arc;

use dsh_agent::files::Answer;
use dsh_agent::hooks::EXECUTE;
use dsh_agent::spill::{PREFIX, SPILL, Spill};
use dsh_agent::tool::ToolFailure;
use dsh_agent::tools::ToolOutcome;
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::hooks::Position;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_protocol::content::ContentBlock;
use dsh_protocol::ids::SessionId;
use dsh_protocol::workspace::{ReadArguments, ReadValue, ToolErrorCode};
use dsh_session::store::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use store::Store;

pub(crate) const PLUGIN: Plugin = Plugin {
    provides: &["spill"],
    config: ConfigSpec::of::<Config>(),
    ..Plugin::new("spill-policy", start)
};

/// The tool that has windows of its own, through which what is kept is read.
const EXEMPT: &str = "read";

/// Which part of what is shown is the end of the result: its notes stand there.
const TAIL_SHARE: usize = 8;

#[derive(Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    /// Bytes of text that a tool's result may have in the conversation. Longer ones are shown in part and kept.
    #[schemars(range(min = 1000))]
    max_inline_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { max_inline_bytes: 50_000 }
    }
}

fn start(
    context: Context,
    config: Value,
) -> futures_util::future::BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let store = Arc::new(Store::default());
        let kept = Arc::clone(&store);
        EXECUTE.listen(&context, Position::First, move |called, next| {
            let (kept, session, tool) =
                (Arc::clone(&kept), called.at.session_id.clone(), called.name.clone());
            async move {
                let outcome = next.run(called).await;
                if tool == EXEMPT {
                    return outcome;
                }
                shorten(outcome, &kept, session, tool, config.max_inline_bytes).await
            }
        })?;
        context.provide(&SPILL, Arc::new(Stored(store)) as Arc<dyn Spill>)
    })
}

/// The outcome, with a text that is too long replaced by its beginning and its end.
async fn shorten(
    mut outcome: ToolOutcome,
    store: &Arc<Store>,
    session: SessionId,
    tool: String,
    most: usize,
) -> ToolOutcome {
    let [ContentBlock::Text { text, .. }] = outcome.content.as_slice() else { return outcome };
    if text.len() <= most {
        return outcome;
    }
    let text: Arc<str> = text.as_str().into();
    let (store, whole) = (Arc::clone(store), Arc::clone(&text));
    let kept = tokio::task::spawn_blocking(move || store.put(&session, &tool, &whole)).await;
    let place = match kept {
        Ok(Ok(name)) => format!("read {PREFIX}{name} for all of it"),
        Ok(Err(error)) => {
            tracing::warn!(%error, "a long result was not kept");
            "it could not be kept; ask for less".to_owned()
        }
        Err(_) => "it could not be kept; ask for less".to_owned(),
    };
    let (head, tail) = ends(&text, most);
    let left_out = text.len() - head.len() - tail.len();
    let note =
        format!("{left_out} of {} bytes of this result are left out here; {place}", text.len());
    outcome.content = vec![ContentBlock::text(format!("{head}\n[{note}]\n{tail}"))];
    outcome.notes.push(note);
    outcome
}

/// The beginning and the end of a long text, in whole lines where lines are not too long.
fn ends(text: &str, most: usize) -> (&str, &str) {
    let tail = most / TAIL_SHARE;
    let head = text.floor_char_boundary(most - tail);
    let head = text[..head].rfind('\n').filter(|at| *at > head / 2).unwrap_or(head);
    let start = text.ceil_char_boundary(text.len() - tail);
    let start =
        text[start..].find('\n').filter(|at| *at < tail / 2).map_or(start, |at| start + at + 1);
    (&text[..head], &text[start..])
}

struct Stored(Arc<Store>);

impl Spill for Stored {
    fn read(
        &self,
        session: Option<SessionId>,
        arguments: ReadArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<ReadValue>, ToolFailure>> {
        let store = Arc::clone(&self.0);
        Box::pin(async move {
            let reading = tokio::task::spawn_blocking(move || {
                store.read(session.as_ref(), &arguments, &cancel)
            });
            reading.await.unwrap_or_else(|_| {
                let message = "the stored result could not be read; call the tool again";
                Err(ToolFailure::new(ToolErrorCode::FsIoError, message))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_whole_lines_and_never_half_a_character() {
        let text = "one line\n".repeat(1000) + "last";
        let (head, tail) = ends(&text, 1000);
        assert!(head.ends_with("one line") && head.len() <= 875);
        assert!(tail.starts_with("one line") && tail.ends_with("last") && tail.len() <= 125);
        let text = "é".repeat(5000);
        let (head, tail) = ends(&text, 1001);
        assert!(head.len() <= 1001 - 125 && tail.len() <= 125);
    }
}
