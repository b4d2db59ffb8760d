//! Verdicts and what the model reads of them.

use dsh_agent::subagents::error::{ImageCode, ImageRefusal, ProjectionError};
use dsh_agent::subagents::request::Window;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::session::Totals;
use serde_json::{Value, json};

use super::*;

const ROLE: BranchRole = BranchRole::IndependentAlternative;

fn packet() -> Value {
    json!({
        "role": "independent-alternative",
        "status": "update",
        "items": [{ "kind": "conclusion", "certainty": "likely", "content": "Another way." }],
    })
}

/// A child that ended like this, with nothing said.
fn ended(stop_reason: StopReason) -> RunResult {
    RunResult {
        stop_reason,
        turn_end: Some(TurnEnd::Completed),
        text: String::new(),
        content: Vec::new(),
        structured: None,
        usage: Totals::default(),
        diagnostic: None,
    }
}

fn with_packet(stop_reason: StopReason) -> RunResult {
    RunResult { structured: Some(packet()), ..ended(stop_reason) }
}

fn with_text(stop_reason: StopReason, turn_end: Option<TurnEnd>) -> RunResult {
    let reasoning = ContentBlock::Reasoning { text: "hm".to_owned() };
    let text = ContentBlock::Text { text: packet().to_string() };
    RunResult { content: vec![reasoning, text], turn_end, ..ended(stop_reason) }
}

/// The stop reason and whether there is a packet.
fn verdict(result: RunResult) -> (String, bool) {
    let verdict = Verdict::of_result(result, ROLE);
    (verdict.stop_reason, verdict.packet.is_some())
}

#[track_caller]
fn check(result: RunResult, stop_reason: &str, has_packet: bool) {
    assert_eq!(verdict(result), (stop_reason.to_owned(), has_packet));
}

#[test]
fn d18_a_packet_of_another_role_is_invalid() {
    let mut other = packet();
    other["role"] = "masked-review".into();
    let result = RunResult { structured: Some(other), ..ended(StopReason::Completed) };
    let verdict = Verdict::of_result(result, ROLE);
    assert_eq!(verdict, Verdict::from(Reason::InvalidStructuredResult));
}

#[test]
fn d19_d5_a_clean_child_that_wrote_its_packet_as_text_has_completed() {
    check(with_text(StopReason::Error, Some(TurnEnd::Completed)), "completed", true);
    check(with_text(StopReason::Completed, Some(TurnEnd::Completed)), "completed", true);
}

#[test]
fn d20_d8_3_a_packet_of_a_child_that_did_not_complete_is_none() {
    for (reason, word) in [
        (StopReason::Error, "error"),
        (StopReason::Aborted, "aborted"),
        (StopReason::MaxTokens, "max-tokens"),
        (StopReason::Refusal, "refusal"),
    ] {
        check(with_packet(reason), word, false);
    }
    for reason in [StopReason::Aborted, StopReason::MaxTokens, StopReason::Refusal] {
        check(with_text(reason, Some(TurnEnd::Completed)), reason.as_str(), false);
    }
}

#[test]
fn d21_text_without_proof_of_a_clean_turn_is_no_packet() {
    check(with_text(StopReason::Error, None), "error", false);
    check(with_text(StopReason::Error, Some(TurnEnd::MaxTokens)), "error", false);
}

#[test]
fn d29_what_is_missing_and_what_is_said_of_an_error() {
    let missing = Verdict::of_result(ended(StopReason::Completed), ROLE);
    assert_eq!(missing, Verdict::from(Reason::MissingStructuredResult));
    let failed = RunResult { diagnostic: Some("it broke".to_owned()), ..ended(StopReason::Error) };
    let failed = Verdict::of_result(failed, ROLE);
    assert_eq!(
        (failed.stop_reason.as_str(), failed.diagnostic.as_deref()),
        ("error", Some("it broke"))
    );
}

#[test]
fn every_reason_that_is_ours_has_a_sentence_of_its_own() {
    let reasons = [
        Reason::Aborted,
        Reason::Timeout,
        Reason::StartupError,
        Reason::InfrastructureError,
        Reason::NoCompletedStep,
        Reason::ProjectionImageLimit,
        Reason::ProjectionOverBudget,
        Reason::InvalidHistoryWindow,
        Reason::MissingStructuredResult,
        Reason::InvalidStructuredResult,
    ];
    let mut said: Vec<&str> = reasons.iter().map(|reason| reason.sentence()).collect();
    said.sort_unstable();
    said.dedup();
    assert_eq!(said.len(), reasons.len());
}

#[test]
fn d7_d8_a_start_that_is_refused_says_why_in_fixed_words() {
    let refusal = ImageRefusal {
        code: ImageCode::InputUnsupported,
        images: 1,
        image_bytes: 10,
        assistant_seed_images: 0,
    };
    let images = Verdict::of_start(&StartError::Images(refusal));
    assert_eq!(images.stop_reason, "unsupported-content");
    assert!(images.diagnostic.unwrap().contains("image input unsupported"));
    let projection = |code| {
        let error = ProjectionError {
            code,
            window: Window::RecentSteps(2),
            turn: None,
            requested_steps: Some(2),
            projected_steps: 2,
            chars: None,
            images: None,
            image_bytes: 0,
        };
        Verdict::of_start(&StartError::Projection(error))
    };
    let limit = projection(ProjectionCode::ImageLimit);
    assert_eq!(limit.stop_reason, "projection-image-limit");
    assert!(limit.diagnostic.unwrap().contains("image limit"));
    for (code, word) in [
        (ProjectionCode::OverBudget, "projection-over-budget"),
        (ProjectionCode::NoCompletedStep, "no-completed-step"),
        (ProjectionCode::NoOpenTurn, "invalid-history-window"),
    ] {
        assert_eq!(projection(code).stop_reason, word);
    }
    let secret = Verdict::of_start(&StartError::Invalid("SECRET".to_owned()));
    assert_eq!(secret, Verdict::from(Reason::StartupError));
}

#[test]
fn d17_the_model_reads_label_role_reason_and_packet_or_diagnostic() {
    let outcome: BranchOutcome = serde_json::from_value(json!({
        "label": "a",
        "role": "independent-alternative",
        "history": "fresh",
        "route": "same",
        "capability": "reason-only",
        "childSessionId": "child",
        "stopReason": "completed",
        "cleanup": "failed",
        "degraded": ["the tool `x` is not available"],
        "packet": packet(),
        "droppedRefs": 1,
        "diagnostic": "said of a run that completed",
    }))
    .unwrap();
    let mut without = outcome.clone();
    without.packet = None;
    let text = rendered(&[outcome, without]);
    assert_eq!(
        text,
        format!(
            "{{\"branches\":[{{\"label\":\"a\",\"role\":\"independent-alternative\",\"stopReason\":\"completed\",\
             \"packet\":{}}},{{\"label\":\"a\",\"role\":\"independent-alternative\",\"stopReason\":\"completed\",\
             \"diagnostic\":\"said of a run that completed\"}}]}}",
            packet()
        )
    );
}
