//! `/deliberate GOAL`: the three roles once each, with the last answer as incumbent.

use std::fmt::Write as _;
use std::sync::Arc;

use dsh_agent::commands::{Command, CommandCall, CommandOutcome};
use dsh_agent::deliberation::RoundRequest;
use dsh_protocol::deliberation::{
    BranchOutcome, BranchRequest, BranchRole, DeliberationContext, PacketStatus,
};
use dsh_protocol::params::command::CommandInfo;
use dsh_session::store::BoxFuture;

use super::config::Config;
use super::rounds::Rounds;
use super::shown;

/// The capability profile that is taken where it is configured; else the first.
const READ_ONLY: &str = "read-only";

/// How many steps the review reads, where so many are allowed.
const STEPS: u64 = 4;

/// The command.
pub(super) struct DeliberateCommand {
    info: CommandInfo,
    rounds: Arc<Rounds>,
}

impl DeliberateCommand {
    pub(super) fn new(rounds: Arc<Rounds>) -> Self {
        let info = CommandInfo {
            name: "deliberate".to_owned(),
            description:
                "Asks three isolated agents about the last answer: another way, an audit, a review."
                    .to_owned(),
            arguments: "GOAL".to_owned(),
        };
        Self { info, rounds }
    }
}

impl Command for DeliberateCommand {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    fn run(&self, call: CommandCall) -> BoxFuture<'static, CommandOutcome> {
        Box::pin(run(Arc::clone(&self.rounds), call))
    }
}

async fn run(rounds: Arc<Rounds>, call: CommandCall) -> CommandOutcome {
    let CommandCall { agent, arguments: goal, cancel } = call;
    if goal.is_empty() {
        return CommandOutcome::failed("say what to decide: `/deliberate GOAL`");
    }
    let last = agent.log().read(|fold| {
        fold.turns
            .iter()
            .rev()
            .map(dsh_session::fold::TurnRecord::text)
            .find(|text| !text.trim().is_empty())
    });
    let Some(incumbent) = last else {
        return CommandOutcome::failed("there is no answer yet that could be deliberated about");
    };
    let request = RoundRequest {
        goal,
        incumbent,
        context: DeliberationContext::default(),
        branches: branches(&rounds.services.config),
        publish: false,
    };
    let begun = match rounds.begin_for_person(agent, request).await {
        Ok(begun) => begun,
        Err(error) => return CommandOutcome::failed(error.to_string()),
    };
    let mut outcomes = begun.outcomes;
    let outcomes = tokio::select! {
        outcomes = &mut outcomes => outcomes,
        () = cancel.cancelled() => {
            begun.cancel.cancel();
            outcomes.await
        }
    };
    match outcomes {
        Ok(outcomes) => CommandOutcome { ok: true, text: text_of(&outcomes) },
        Err(_) => CommandOutcome::failed("the round broke"),
    }
}

fn branches(config: &Config) -> Vec<BranchRequest> {
    let first = |names: Vec<&String>| names.first().map(|name| (*name).clone()).unwrap_or_default();
    let route = first(config.routes.iter().map(|route| &route.name).collect());
    let read_only = config.profile(READ_ONLY).map(|profile| profile.name.clone());
    let any = || first(config.capability_profiles.iter().map(|profile| &profile.name).collect());
    let capability = read_only.unwrap_or_else(any);
    let branch = |role: BranchRole, label: &str, focus: &str| BranchRequest {
        label: label.to_owned(),
        route: route.clone(),
        capability: capability.clone(),
        focus: focus.to_owned(),
        role,
        recent_steps: (role == BranchRole::MaskedReview)
            .then(|| STEPS.min(config.max_recent_steps)),
    };
    vec![
        branch(
            BranchRole::IndependentAlternative,
            "alternative",
            "another mechanism or another set of assumptions that answers the question",
        ),
        branch(BranchRole::TrajectoryAudit, "audit", "the weakest claim of the incumbent"),
        branch(
            BranchRole::MaskedReview,
            "review",
            "whether what was done supports what would be done next",
        ),
    ]
}

/// The outcomes as a person reads them.
fn text_of(outcomes: &[BranchOutcome]) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let _ = write!(text, "{} ({}): ", outcome.label, outcome.role.as_str());
        match &outcome.packet {
            Some(packet) if packet.status == PacketStatus::NoUpdate => {
                text.push_str("nothing that matters was found\n");
            }
            Some(_) => text.push('\n'),
            None => {
                let diagnostic = outcome.diagnostic.as_deref().unwrap_or_default();
                let _ = writeln!(text, "{} {diagnostic}", outcome.stop_reason);
            }
        }
        let found = outcome.packet.iter().flat_map(|packet| packet.items.iter().flatten());
        shown::items(&mut text, found);
        match outcome.dropped_refs {
            None | Some(0) => {}
            Some(1) => text.push_str("  one place that it named does not hold and is left out\n"),
            Some(dropped) => {
                let _ =
                    writeln!(text, "  {dropped} places that it named do not hold and are left out");
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}
