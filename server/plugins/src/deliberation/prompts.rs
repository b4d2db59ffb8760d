//! What each branch is asked: one message of fixed sections around what the round was given.

use std::fmt::Write as _;

use dsh_protocol::deliberation::{BranchRequest, BranchRole, HistoryWindow};
use dsh_protocol::review::ReviewBy;

use super::arguments::Arguments;
use super::config::CapabilityProfile;

/// The message that a branch begins with. Its label is not in it: names suggest answers.
pub(super) fn branch(
    arguments: &Arguments,
    branch: &BranchRequest,
    profile: &CapabilityProfile,
    window: Option<HistoryWindow>,
) -> String {
    let mut text = format!(
        "You are one isolated `{}` branch of a round that the primary agent controls. You do not talk to the user, \
         and nobody sees anything of you but what you hand in.\n",
        branch.role.as_str()
    );
    section(&mut text, "Decision question", &arguments.goal);
    match branch.role {
        BranchRole::TrajectoryAudit => section(&mut text, "Incumbent", &arguments.incumbent),
        BranchRole::IndependentAlternative | BranchRole::MaskedReview => section(
            &mut text,
            "Incumbent",
            "The primary's present judgement is left out on purpose. Do not try to guess or reconstruct it.",
        ),
    }
    list(&mut text, "Supplied observations", &arguments.context.observations);
    list(&mut text, "User and system constraints", &arguments.context.constraints);
    list(&mut text, "Unresolved unknowns", &arguments.context.unknowns);
    section(&mut text, "Focus", &branch.focus);
    section(&mut text, "What you know of the session", &boundary(branch.role, window));
    let capability = format!("{}: {}", profile.name, profile.description);
    section(&mut text, "What you can do", &capability);
    section(&mut text, "Your task", task(branch.role));
    section(&mut text, "Rules", &rules(branch.role));
    text
}

/// The message that the reviewer of a turn begins with.
pub(super) fn review(turn: u64, by: ReviewBy, profile: &CapabilityProfile) -> String {
    let occasion = match by {
        ReviewBy::Auto => "invoked automatically at the stopping boundary of the primary's",
        ReviewBy::User => "asked for by a person after the primary's",
    };
    let mut text = format!(
        "You are one isolated `masked-review` child, {occasion} turn {turn}. You do not talk to the user, and nobody \
         sees anything of you but what you hand in. You review; you do not go on with the task.\n"
    );
    section(
        &mut text,
        "What you know of the session",
        &format!(
            "The runtime kept the balanced prefix before turn {turn} as it was. Before this message stands a masked \
             snapshot, written by the runtime, of every complete step in that turn, never of one in flight. Visible \
             prose in it is the actor's claim and not evidence. Do not reconstruct what was left out."
        ),
    );
    let capability = format!("{}: {}", profile.name, profile.description);
    section(&mut text, "What you can do", &capability);
    section(&mut text, "Your task", task(BranchRole::MaskedReview));
    section(
        &mut text,
        "What counts as an update",
        "Compare each candidate with the snapshot and with the history that the primary can see before you hand it \
         in. A restatement is no difference: a tool result that is there already, a command that succeeded, a \
         conclusion that the primary has stated, or that no fix is needed. Then hand in exactly \
         {\"role\":\"masked-review\",\"status\":\"no_update\"}. An update is for a contradiction, a risk that \
         nobody has observed, an assumption that has changed, a materially different path, or a concrete next check \
         that could change how the primary goes on. The primary owns the final continuation.",
    );
    section(&mut text, "Rules", &rules(BranchRole::MaskedReview));
    text
}

fn section(text: &mut String, title: &str, body: &str) {
    let _ = write!(text, "\n## {title}\n\n{}\n", body.trim_end());
}

/// An empty list says that nothing was supplied, so that nobody reads its absence as a fact.
fn list(text: &mut String, title: &str, entries: &[String]) {
    let mut body = String::new();
    for entry in entries {
        let _ = writeln!(body, "- {}", entry.replace('\n', "\n  "));
    }
    if body.is_empty() {
        body.push_str("- none supplied");
    }
    section(text, title, &body);
}

fn boundary(role: BranchRole, window: Option<HistoryWindow>) -> String {
    match role {
        BranchRole::IndependentAlternative => {
            "You have only this projection, written by the primary, and no conversation before it. If an answer \
             slipped into it by accident, that is an anchor to be aware of, not evidence."
                .to_owned()
        }
        BranchRole::TrajectoryAudit => {
            "You inherit the turns that the primary has completed. The turn that runs now, with the tool call that \
             started you, is not part of them."
                .to_owned()
        }
        BranchRole::MaskedReview => {
            let (projected, requested) = match window {
                Some(HistoryWindow::RecentSteps { requested_steps, projected_steps }) => {
                    (projected_steps, requested_steps)
                }
                None => (0, 0),
            };
            format!(
                "You inherit a balanced prefix of the session. Before this message stands a masked projection, \
                 written by the runtime, of {projected} complete prior steps out of the {requested} that were \
                 requested. The step that started you is excluded. Visible prose in it is the actor's claim and not \
                 evidence. Do not reconstruct what was left out."
            )
        }
    }
}

fn task(role: BranchRole) -> &'static str {
    match role {
        BranchRole::IndependentAlternative => {
            "Construct one defensible answer, plan or explanation from a materially different mechanism or set of \
             assumptions. Do not manufacture novelty: that there is no defensible alternative is a valid finding, \
             and its status is `no_update`. Keep observations and assumptions apart."
        }
        BranchRole::TrajectoryAudit => {
            "Decide whether the observable trajectory and the incumbent still hold. Attempt concrete falsification, \
             but do not assume that there is an error. Report what you observed yourself as observations; a check \
             that you did not perform is only a suggestion. Keep only the error or the uncertainty that matters."
        }
        BranchRole::MaskedReview => {
            "Read the projected steps as evidence of behaviour: inputs, chosen actions, outcomes, visible state. You \
             do not have the actor's reasoning. Visible prose is a claim. Each `Image evidence #N` is first-class \
             evidence; name its label only where it grounds an item, and use `unknown` rather than invent detail \
             that you cannot read. Check whether the behaviour still supports how the primary would go on. If \
             nothing changes, the status is `no_update`. Never manufacture an alternative frame."
        }
    }
}

fn rules(role: BranchRole) -> String {
    format!(
        "- Use only events that you can observe, the items supplied here and real results of tools.\n\
         - Finish by calling the tool `structured_output` with your packet: an object with `role` (always \
         \"{}\"), `status` and, for an update, `items`. Plain text does not count.\n\
         - `status` is `no_update` when you found nothing that matters for the decision; `items` is then left \
         out.\n\
         - Otherwise hand in few items. Each has a `kind` (observation, conclusion, assumption, unknown, \
         possible_error or suggestion), a `certainty` (certain, likely or uncertain) and its `content`, and may \
         have `refs`: places in the workspace that it stands on.\n\
         - `certain` is for what a supplied observation or an actual result of a tool supports directly.\n\
         - Only evidence and differences that matter: no transcripts, no repetition of the task, no general \
         caveats.\n\
         - Do not claim to know hidden reasoning, token probabilities, or a private workspace of your own.",
        role.as_str()
    )
}

#[cfg(test)]
mod tests {
    use dsh_kernel::plugin::read_config;
    use serde_json::json;

    use super::super::arguments::{self, tests::round};
    use super::super::config::{Config, tests::good};
    use super::*;

    fn prompt(role: BranchRole) -> String {
        let config: Config = read_config(good()).unwrap();
        let mut asked = round();
        asked["branches"][0]["label"] = "LABEL".into();
        asked["branches"][0]["role"] = role.as_str().into();
        if role == BranchRole::MaskedReview {
            asked["branches"][0]["recentSteps"] = json!(4);
        }
        let arguments = arguments::read(&asked, &config).unwrap();
        let window = HistoryWindow::RecentSteps { requested_steps: 4, projected_steps: 2 };
        let profile = config.profile("reason-only").unwrap();
        branch(&arguments, &arguments.branches[0], profile, Some(window))
    }

    #[test]
    fn d4_the_reviewer_of_a_turn_is_told_what_is_an_update() {
        let config: Config = read_config(good()).unwrap();
        let text = review(7, ReviewBy::Auto, config.profile("reason-only").unwrap());
        for said in [
            "stopping boundary of the primary's turn 7",
            "every complete step in that turn",
            "Image evidence #N",
            "A restatement is no difference",
            "{\"role\":\"masked-review\",\"status\":\"no_update\"}",
            "a concrete next check",
            "`structured_output`",
            "reason-only: No tools.",
        ] {
            assert!(text.contains(said), "{said}");
        }
        assert!(!text.contains("Decision question") && !text.contains("Incumbent"));
        assert!(
            review(7, ReviewBy::User, config.profile("reason-only").unwrap())
                .contains("by a person")
        );
    }

    #[test]
    fn d3_each_role_is_told_what_it_may_know() {
        let [alternative, audit, review] = BranchRole::ALL.map(prompt);
        for (text, role) in [&alternative, &audit, &review].into_iter().zip(BranchRole::ALL) {
            for said in [
                "Which lock?",
                "- It stalls.",
                "- none supplied",
                "fairness",
                "reason-only: No tools.",
                "`structured_output`",
                role.as_str(),
            ] {
                assert!(text.contains(said), "{role:?}: {said}");
            }
            assert!(!text.contains("LABEL"), "{role:?}");
        }
        assert!(audit.contains("The mutex."));
        assert!(!alternative.contains("The mutex.") && !review.contains("The mutex."));
        assert!(alternative.contains("no conversation before it"));
        assert!(audit.contains("turns that the primary has completed"));
        assert!(review.contains("of 2 complete prior steps out of the 4"));
        assert!(!alternative.contains("complete prior steps"));
    }
}
