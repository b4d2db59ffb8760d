//! What providers are asked, what the log says, and what starts nothing.

use dsh_agent::subagents::request::Route as ChildRoute;
use dsh_protocol::subagent::ToolFilter;

use super::*;

fn masked(label: &str, steps: u64) -> Value {
    json!({
        "label": label, "route": "same", "capability": "evidence-only", "focus": "what was read",
        "role": "masked-review", "recentSteps": steps,
    })
}

#[tokio::test]
async fn d3_each_branch_is_one_request_with_its_roles_settings() {
    let bench = Bench::new().await;
    let (fresh, fork) = (Scripted::new("spawn", false), Scripted::new("fork", true));
    let family: Vec<_> =
        (1..=4).map(|steps| Scripted::new(&format!("mid-fork-step-{steps}"), true)).collect();
    let kept: Vec<Registration> = [&fresh, &fork]
        .into_iter()
        .chain(&family)
        .map(|provider| bench.provide(provider))
        .collect();
    bench.gate.open(Arc::new(Deliberate::new(Arc::clone(&bench.rounds)))).unwrap();
    let packet = |role: &str| json!({ "role": role, "status": "no_update" });
    fresh.script("other", Script::packet(packet("independent-alternative")));
    fork.script("audit", Script::packet(packet("trajectory-audit")));
    let mut asked = alternatives(&["other", "audit"]);
    asked["branches"][1]["role"] = "trajectory-audit".into();
    asked["branches"][1]["route"] = "strong".into();
    asked["branches"][1]["capability"] = "evidence-only".into();
    let output = bench.call(asked).await.unwrap();
    let good = ("completed", "completed", true);
    assert_eq!(summary(&output), expected(&[good, good]));
    let (alternative, audit) = (fresh.requests().remove(0), fork.requests().remove(0));
    assert_eq!((fresh.requests().len(), fork.requests().len()), (1, 1));
    for request in [&alternative, &audit] {
        assert_eq!(&request.parent, bench.agent.id());
        assert_eq!(request.max_depth, Some(1));
        assert_eq!(request.history, None);
    }
    let filter = |allow: &[&str], deny: &[&str]| {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Some(ToolFilter { allow: Some(own(allow)), deny: own(deny) })
    };
    assert_eq!(alternative.tool_filter, filter(&[], &["deliberate"]));
    assert_eq!(audit.tool_filter, filter(&["fixture_read"], &["fixture_write", "deliberate"]));
    assert_eq!(alternative.route, ChildRoute::default());
    let strong = ChildRoute {
        provider: Some("secret-provider".to_owned()),
        model: Some("secret-model".to_owned()),
        max_tokens: Some(2048),
    };
    assert_eq!(audit.route, strong);
    let schema = audit.output.unwrap().schema;
    assert_eq!(schema["properties"]["role"]["const"], "trajectory-audit");
    let contract = alternative.output.unwrap();
    assert!((contract.check)(&packet("trajectory-audit")).is_err());
    assert!((contract.check)(&packet("independent-alternative")).is_ok());
    assert!(!output.text.contains("child-") && !output.text.contains("history\""));
    assert_eq!(output.value["outcomes"][0]["childSessionId"], "child-other");
    assert_eq!(output.value["outcomes"][1]["history"], "fork");
    drop(kept);
}

#[tokio::test]
async fn d3_a_tool_that_is_not_up_is_not_denied() {
    let bench = Bench::new().await;
    let fresh = Scripted::new("spawn", false);
    let _kept = bench.provide(&fresh);
    fresh.script("a", Script::StartFails);
    bench.call(alternatives(&["a"])).await.unwrap();
    assert_eq!(fresh.requests()[0].tool_filter.as_ref().unwrap().deny, Vec::<String>::new());
}

#[tokio::test]
async fn d6_without_a_complete_step_no_review_starts() {
    let bench = Bench::new().await;
    let mut asked = alternatives(&["a"]);
    asked["branches"] = json!([masked("again", 2)]);
    let output = bench.call(asked).await.unwrap();
    assert_eq!(summary(&output), expected(&[("no-completed-step", "not-started", false)]));
    let outcome = &output.value["outcomes"][0];
    assert_eq!(
        outcome["historyWindow"],
        json!({ "kind": "recent-steps", "requestedSteps": 2, "projectedSteps": 0 })
    );
    assert_eq!(outcome.get("childSessionId"), None);
    assert!(output.text.contains("No complete step"));
}

#[tokio::test]
async fn d25_a_refused_call_starts_nothing_and_logs_nothing() {
    let bench = Bench::new().await;
    let fresh = Scripted::new("spawn", false);
    let _kept = bench.provide(&fresh);
    let blank = |change: fn(&mut Value)| {
        let mut asked = alternatives(&["a"]);
        change(&mut asked);
        asked
    };
    for asked in [
        blank(|it| it["goal"] = "".into()),
        blank(|it| it["branches"] = json!([])),
        blank(|it| it["branches"][0]["route"] = "none".into()),
        blank(|it| it["branches"][0]["recentSteps"] = 1.into()),
    ] {
        let failure = bench.call(asked).await.unwrap_err();
        assert_eq!(failure.code, dsh_protocol::workspace::ToolErrorCode::InvalidArgs);
    }
    let tool = Deliberate::new(Arc::clone(&bench.rounds));
    let cx = ToolContext {
        caller: None,
        session: None,
        folders: Arc::default(),
        cancel: CancellationToken::new(),
    };
    let failure = tool.run(alternatives(&["a"]), cx).await.unwrap_err();
    assert_eq!(failure.message, "deliberate requires a calling Agent");
    assert!(fresh.requests().is_empty() && bench.logged().is_empty());
}

#[tokio::test]
async fn the_log_tells_a_round_from_its_beginning_to_its_outcomes() {
    let bench = Bench::new().await;
    let fresh = Scripted::new("spawn", false);
    let _kept = bench.provide(&fresh);
    fresh.script("a", Script::packet(packet()));
    let output = bench.call(alternatives(&["a"])).await.unwrap();
    let logged = bench.logged();
    let told: Vec<String> = logged
        .iter()
        .map(|event| {
            let state = event["data"]["state"].as_str().unwrap_or_default();
            format!("{} {state}", event["type"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            "deliberation/started ",
            "deliberation/branch running",
            "deliberation/branch settled",
            "deliberation/settled ",
        ]
    );
    assert!(logged.iter().all(|event| event["ignorable"] == true));
    let started = &logged[0]["data"];
    assert_eq!(
        (&started["turn"], &started["callId"], &started["by"]),
        (&json!(1), &json!("c1"), &json!("model"))
    );
    assert_eq!(started["branches"][0]["history"], "fresh");
    assert_eq!(logged[3]["data"]["outcomes"], output.value["outcomes"]);
    assert_eq!(logged[1]["data"]["childSessionId"], "child-a");
}
