//! What one branch does, or does not, changes nothing for the others.

use std::time::Instant;

use dsh_protocol::subagent::StopReason;
use tokio::sync::Notify;

use super::scripted::with_packet;
use super::*;

/// A bench whose branches have so many milliseconds.
async fn bench(ms: u64) -> (Bench, Arc<Scripted>, Registration) {
    let mut config = good();
    config["branchTimeoutMs"] = ms.into();
    let bench = Bench::with(config).await;
    let fresh = Scripted::new("spawn", false);
    let kept = bench.provide(&fresh);
    (bench, fresh, kept)
}

#[tokio::test]
async fn d22_branches_run_side_by_side() {
    let (bench, fresh, _kept) = bench(10_000).await;
    let gates = [Arc::new(Notify::new()), Arc::new(Notify::new())];
    for (label, gate) in ["a", "b"].into_iter().zip(&gates) {
        let result = Box::new(with_packet(packet()));
        fresh.script(label, Script::Answers(result, Some(Arc::clone(gate))));
    }
    let releasing = async {
        until("both start before either has an answer", || fresh.requests().len() == 2).await;
        gates[1].notify_one();
        gates[0].notify_one();
    };
    let (output, ()) = tokio::join!(bench.call(alternatives(&["a", "b"])), releasing);
    let output = output.unwrap();
    let good = ("completed", "completed", true);
    assert_eq!(summary(&output), expected(&[good, good]));
    let labels: Vec<&Value> =
        output.value["outcomes"].as_array().unwrap().iter().map(|it| &it["label"]).collect();
    assert_eq!(labels, ["a", "b"]);
}

#[tokio::test]
async fn d23_d29_each_way_to_break_is_its_own_branchs() {
    let (bench, fresh, _kept) = bench(10_000).await;
    fresh.script("start", Script::StartFails);
    fresh.script("panic", Script::StartPanics);
    fresh.script("result", Script::ResultFails);
    fresh.script("good", Script::packet(packet()));
    let output = bench.call(alternatives(&["start", "panic", "result", "good"])).await.unwrap();
    assert_eq!(
        summary(&output),
        expected(&[
            ("startup-error", "not-started", false),
            ("infrastructure-error", "abandoned", false),
            ("infrastructure-error", "completed", false),
            ("completed", "completed", true),
        ])
    );
    assert!(!format!("{output:?}").contains("PRIVATE"));
    let logged = serde_json::to_string(&bench.logged()).unwrap();
    assert!(!logged.contains("PRIVATE"));
    assert_eq!(fresh.disposed().len(), 2);
}

#[tokio::test]
async fn d29_what_a_child_says_and_what_it_leaves_behind() {
    let (bench, fresh, _kept) = bench(10_000).await;
    let nothing = scripted::with_packet(Value::Null);
    let nothing = dsh_agent::subagents::run::RunResult { structured: None, ..nothing };
    let failed = dsh_agent::subagents::run::RunResult {
        stop_reason: StopReason::Error,
        turn_end: None,
        diagnostic: Some("its model failed (AUTH)".to_owned()),
        ..nothing.clone()
    };
    let said = dsh_agent::subagents::run::RunResult {
        diagnostic: Some("said of a run that completed".to_owned()),
        ..with_packet(packet())
    };
    fresh.script("nothing", Script::Answers(Box::new(nothing), None));
    fresh.script("failed", Script::Answers(Box::new(failed), None));
    fresh.script("stays", Script::DisposeFails(Box::new(with_packet(packet()))));
    fresh.script("said", Script::Answers(Box::new(said), None));
    let output = bench.call(alternatives(&["nothing", "failed", "stays", "said"])).await.unwrap();
    assert_eq!(
        summary(&output),
        expected(&[
            ("missing-structured-result", "completed", false),
            ("error", "completed", false),
            ("completed", "failed", true),
            ("completed", "completed", true),
        ])
    );
    assert!(output.text.contains("its model failed (AUTH)"));
    assert_eq!(output.value["outcomes"][3]["diagnostic"], "said of a run that completed");
    assert!(!output.text.contains("said of a run") && !output.text.contains("PRIVATE"));
}

#[tokio::test]
async fn d24_each_branch_has_its_own_time() {
    let (bench, fresh, _kept) = bench(400).await;
    fresh.script("unborn", Script::StartHangs);
    fresh.script("silent", Script::Hangs);
    fresh.script("good", Script::packet(packet()));
    let began = Instant::now();
    let output = bench.call(alternatives(&["unborn", "silent", "good"])).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
    assert_eq!(
        summary(&output),
        expected(&[
            ("timeout", "not-started", false),
            ("timeout", "completed", false),
            ("completed", "completed", true),
        ])
    );
    assert_eq!(fresh.disposed().iter().filter(|label| *label == "silent").count(), 1);
}

#[tokio::test]
async fn d24_d8_3_a_packet_survives_a_cleanup_that_hangs() {
    let (bench, fresh, _kept) = bench(300).await;
    fresh.script("stuck", Script::DisposeHangs(Box::new(with_packet(packet()))));
    let began = Instant::now();
    let output = bench.call(alternatives(&["stuck"])).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(800), "{:?}", began.elapsed());
    assert_eq!(summary(&output), expected(&[("completed", "abandoned", true)]));
}

#[tokio::test]
async fn d30_a_cancelled_call_ends_its_branches_and_says_so() {
    let (bench, fresh, _kept) = bench(60_000).await;
    fresh.script("good", Script::packet(packet()));
    let cancel = CancellationToken::new();
    let cancelling = async {
        let settled = |it: &Value| it["data"]["stopReason"] == "completed";
        until("one branch has come out", || bench.logged().iter().any(settled)).await;
        cancel.cancel();
        Instant::now()
    };
    let call = bench.call_until(alternatives(&["good", "silent"]), cancel.clone());
    let (failure, cancelled) = tokio::join!(call, cancelling);
    assert!(cancelled.elapsed() < Duration::from_millis(400));
    let failure = failure.unwrap_err();
    assert!(failure.message.contains("deliberation aborted"), "{failure}");
    assert_eq!(fresh.disposed().len(), 2);
    let logged = bench.logged();
    let last = logged.last().unwrap();
    assert_eq!(last["type"], "deliberation/settled");
    assert_eq!(last["data"]["outcomes"][1]["stopReason"], "aborted");
}

#[tokio::test]
async fn one_branch_or_all_can_be_cancelled_from_outside() {
    let (bench, fresh, _kept) = bench(60_000).await;
    let by_person = Arc::clone(&bench.rounds);
    let cancelling = async {
        until("all run", || bench.logged().len() == 4).await;
        let round = bench.logged()[0]["data"]["roundId"].as_str().unwrap().into();
        assert!(by_person.cancel(&round, Some("b")));
        assert!(!by_person.cancel(&round, Some("nobody")));
        until("one has come out", || bench.logged().len() == 5).await;
        assert_eq!(bench.logged()[4]["data"]["label"], "b");
        assert!(by_person.cancel(&round, None));
        round
    };
    let (output, round) = tokio::join!(bench.call(alternatives(&["a", "b", "c"])), cancelling);
    let aborted = ("aborted", "completed", false);
    assert_eq!(summary(&output.unwrap()), expected(&[aborted, aborted, aborted]));
    assert!(by_person.cancel(&round, None), "a round that has ended");
    assert!(!by_person.cancel(&"nothing".into(), None));
    assert_eq!(fresh.disposed().len(), 3);
    bench.kernel.dispose().await;
}

#[tokio::test]
async fn closing_cancels_what_runs_and_waits_for_it() {
    let (bench, fresh, _kept) = bench(60_000).await;
    let request = dsh_agent::deliberation::RoundRequest {
        goal: "g".to_owned(),
        incumbent: "i".to_owned(),
        context: dsh_protocol::deliberation::DeliberationContext::default(),
        branches: serde_json::from_value(alternatives(&["a"])["branches"].clone()).unwrap(),
        publish: false,
    };
    let arguments = json!({
        "goal": request.goal, "incumbent": request.incumbent,
        "context": request.context, "branches": request.branches,
    });
    let arguments = super::arguments::read(&arguments, &bench.services.config).unwrap();
    let begun = bench.rounds.begin(bench.agent.clone(), None, arguments, false).await.unwrap();
    bench.rounds.close(None).await;
    assert_eq!(fresh.requests().len(), fresh.disposed().len());
    assert_eq!(begun.outcomes.await.unwrap()[0].stop_reason, "aborted");
    assert_eq!(bench.logged().last().unwrap()["type"], "deliberation/settled");
}
