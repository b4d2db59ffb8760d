//! `/review`: reviews the last completed turn and says what was found.

use std::fmt::Write as _;
use std::sync::Arc;

use dsh_agent::commands::{Command, CommandCall, CommandOutcome};
use dsh_protocol::event::ReviewSettled;
use dsh_protocol::params::command::CommandInfo;
use dsh_protocol::review::{ReviewReason, ReviewStatus};
use dsh_session::store::BoxFuture;

use super::Reviews;
use crate::deliberation::shown;

/// The command.
pub(in crate::deliberation) struct ReviewCommand {
    info: CommandInfo,
    reviews: Arc<Reviews>,
}

impl ReviewCommand {
    pub(in crate::deliberation) fn new(reviews: Arc<Reviews>) -> Self {
        let info = CommandInfo {
            name: "review".to_owned(),
            description:
                "Has the last turn read again by an agent that does not know why it was done so."
                    .to_owned(),
            arguments: String::new(),
        };
        Self { info, reviews }
    }
}

impl Command for ReviewCommand {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    fn run(&self, call: CommandCall) -> BoxFuture<'static, CommandOutcome> {
        Box::pin(run(Arc::clone(&self.reviews), call))
    }
}

async fn run(reviews: Arc<Reviews>, call: CommandCall) -> CommandOutcome {
    let CommandCall { agent, arguments, cancel } = call;
    if !arguments.is_empty() {
        return CommandOutcome::failed("`/review` takes no arguments");
    }
    let begun = match reviews.begin(agent, false).await {
        Ok(begun) => begun,
        Err(error) => return CommandOutcome::failed(error.to_string()),
    };
    let mut settled = begun.settled;
    let settled = tokio::select! {
        settled = &mut settled => settled,
        () = cancel.cancelled() => {
            begun.cancel.cancel();
            settled.await
        }
    };
    match settled {
        Ok(settled) => outcome(&settled),
        Err(_) => CommandOutcome::failed("the review broke"),
    }
}

fn outcome(settled: &ReviewSettled) -> CommandOutcome {
    let mut text = String::new();
    match settled.status {
        ReviewStatus::Update => shown::items(&mut text, settled.items.iter().flatten()),
        ReviewStatus::NoUpdate => text.push_str("nothing that matters was found"),
        ReviewStatus::Cancelled => text.push_str("the review was cancelled"),
        ReviewStatus::Failed => {
            let reason = settled.reason.unwrap_or(ReviewReason::InfrastructureError);
            let _ = write!(text, "the review failed: {}", shown::word(&reason));
        }
    }
    let ok = matches!(settled.status, ReviewStatus::Update | ReviewStatus::NoUpdate);
    CommandOutcome { ok, text: text.trim_end().to_owned() }
}
