//! Row `evidence`: checks what answers say of the workspace's files, without any model.
//!
//! At the end of each turn of a root session the claims of the answer are taken out of its text
//! (`evidence/claims.rs`) and judged by the files as the tools see them (`evidence/check.rs`). What does not
//! hold is logged; the model hears of it only where the row says `steer`.

mod beside;
mod check;
mod claims;
mod document;
mod fences;
mod judge;
mod markdown;
mod place;
mod words;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use dsh_agent::agent::Notice;
use dsh_agent::evidence::{Checked, EVIDENCE, Evidence, Ref};
use dsh_agent::files::{FS, SEARCH};
use dsh_agent::hooks::{GoOn, TURN_STOPPING, TurnStopping};
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::hooks::Position;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::{EventData, EvidenceChecked};
use dsh_protocol::evidence::{EvidenceFailure, EvidenceReason};
use dsh_session::store::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use check::Checker;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["fs"],
    optional: &["search"],
    provides: &["evidence"],
    config: ConfigSpec::of::<Config>(),
    ..Plugin::new("evidence", start)
};

/// How many failures the model is told of at once.
const TOLD: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    /// Whether the model is told of what does not hold, and the turn goes on with it. Default false.
    steer: bool,
    /// How many claims of one answer are checked. Default 200.
    #[schemars(range(min = 1, max = 10_000))]
    max_citations: usize,
    /// How long one answer may be checked, in milliseconds. What is not checked by then does not count. Default
    /// 1000.
    #[schemars(range(min = 1, max = 60_000))]
    deadline_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { steer: false, max_citations: 200, deadline_ms: 1000 }
    }
}

fn start(
    context: Context,
    config: Value,
) -> futures_util::future::BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let checker = Arc::new(Checker {
            files: context.get(&FS)?,
            search: context.optional(&SEARCH)?,
            most: config.max_citations,
            deadline: Duration::from_millis(config.deadline_ms),
        });
        let (own, steer) = (Arc::clone(&checker), config.steer);
        TURN_STOPPING.listen(&context, Position::First, move |event| {
            let checker = Arc::clone(&own);
            async move { Ok(turn_stops(&checker, &event, steer).await) }
        })?;
        context.provide(&EVIDENCE, Arc::new(Service(checker)) as Arc<dyn Evidence>)
    })
}

/// Checks the answer with which a turn is about to end.
async fn turn_stops(own: &Arc<Checker>, event: &TurnStopping, steer: bool) -> Option<GoOn> {
    let answer = event.answer.as_ref().filter(|_| event.is_root)?;
    let mut text = answer.text.as_str();
    if event.cut {
        // What the model's limit cut off may be half a citation.
        text = text.rfind('\n').map_or("", |end| &text[..end]);
    }
    let Checked { checked, failures } = own.check(text, event.cancel.clone()).await;
    if checked == 0 {
        return None;
    }
    let told = (steer && !failures.is_empty()).then(|| notice(&failures));
    event.notes.add(EventData::EvidenceChecked(EvidenceChecked {
        turn: event.at.turn,
        message_seq: answer.seq,
        checked,
        failures,
    }));
    let text = told?;
    Some(GoOn::from(Notice {
        plugin: "evidence".to_owned(),
        form: Some("notice".to_owned()),
        content: vec![ContentBlock::Text { text }],
        ..Notice::default()
    }))
}

/// What the model reads of failures.
fn notice(failures: &[EvidenceFailure]) -> String {
    let mut text =
        "Some of what you cited does not hold in the workspace. Read the files again and answer \
                    with corrected citations:\n"
            .to_owned();
    for failure in failures.iter().take(TOLD) {
        let _ = writeln!(text, "- {}", described(failure));
    }
    if failures.len() > TOLD {
        let _ = writeln!(text, "- and {} more", failures.len() - TOLD);
    }
    text
}

fn described(failure: &EvidenceFailure) -> String {
    let place = match failure.line {
        Some(line) => format!("{}:{line}", failure.path),
        None => failure.path.clone(),
    };
    let quote = failure.quote.as_deref().unwrap_or_default();
    let now = failure.now.map_or(String::new(), |now| format!("; line {now} has it"));
    match failure.reason {
        EvidenceReason::MissingFile => format!("{place}: there is no such file"),
        EvidenceReason::LineOutOfRange => format!("{place}: the file has no such line{now}"),
        EvidenceReason::QuoteNotFound => format!("{place}: the file does not have `{quote}`"),
        EvidenceReason::QuoteMoved => format!("{place}: `{quote}` is not there{now}"),
        EvidenceReason::IdentifierNotNear => {
            format!("{place}: `{quote}` is not near that line{now}")
        }
    }
}

/// The checker as a service.
struct Service(Arc<Checker>);

impl Evidence for Service {
    fn check(&self, text: String, cancel: CancellationToken) -> BoxFuture<'static, Checked> {
        let checker = Arc::clone(&self.0);
        Box::pin(async move { checker.check(&text, cancel).await })
    }

    fn check_refs(
        &self,
        refs: Vec<Ref>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Vec<Result<(), EvidenceFailure>>> {
        let checker = Arc::clone(&self.0);
        Box::pin(async move { checker.check_refs(refs, cancel).await })
    }
}
