//! What comes of a review: events, notifications, the notice, the list.

use super::*;

#[test]
fn d4_an_update_is_told_once_and_the_turn_goes_on_with_it() {
    let (_world, mock, mut client) =
        stage(ON, [reads(), say("It has one caller."), say("It has two callers.")]);
    mock.add_when(REVIEWER, hand_in(&update()));
    let outcome = client.complete("s", "Who calls the parser?");
    assert_eq!(outcome["outcome"]["kind"], "completed");
    assert_eq!(outcome["text"], "It has two callers.");

    let found = reviewing(&mut client);
    assert_eq!(
        types(&found),
        ["review/claimed", "review/child", "agent/inbox/spliced", "review/settled"]
    );
    let (claimed, child, notice, settled) = (&found[0].1, &found[1].1, &found[2].1, &found[3].1);
    assert_eq!((&claimed["turn"], &claimed["by"]), (&json!(1), &json!("auto")));
    assert_eq!(claimed["configHash"].as_str().unwrap().len(), 16);
    let draft = claimed["draftSeq"].as_u64().unwrap();
    let log = client.log("s");
    assert!(log[usize::try_from(draft).unwrap()].to_string().contains("It has one caller."));
    assert_eq!(settled["draftSeq"], draft);
    assert_eq!((&settled["status"], &settled["published"]), (&json!("update"), &json!(true)));
    assert_eq!(settled["items"], update()["items"]);
    let message = &notice["inserted"][0];
    assert_eq!(
        message["source"],
        json!({
            "kind": "plugin", "plugin": "tool-deliberation", "form": "notice",
            "summary": "masked review checkpoint · update · 1 items",
        })
    );
    let text = message["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), update());
    assert!(!text.contains(child["childSessionId"].as_str().unwrap()), "{text}");
    for event in log.iter().filter(|it| it["type"].as_str().unwrap().starts_with("review/")) {
        assert_eq!((&event["ignorable"], event.get("surfaceOp")), (&json!(true), None));
    }

    // One reviewer, and one more step of the session's own.
    assert_eq!((reviewers(&mock).len(), mock.requests().len()), (1, 4));
    let asked = mock.requests().last().unwrap().json()["messages"].to_string();
    assert!(asked.contains("FOUND"), "{asked}");
}

#[test]
fn d4_the_reviewer_reads_the_turn_without_its_reasoning() {
    let thinks = Answer::stream().reasoning("SECRET-REASONING").delta("One.").finish("stop").done();
    let (_world, mock, mut client) = stage(ON, [reads(), thinks]);
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "Who calls the parser?");
    let body = reviewers(&mock).remove(0);
    let text = body.to_string();
    for said in [
        "stopping boundary of the primary's turn 1",
        "Who calls the parser?",
        "One.",
        "pub fn parse",
        "A restatement is no difference",
        "<snapshot nonce=",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("SECRET-REASONING"), "{text}");
    let tools = body["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools.map(|it| it["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["glob", "grep", "read", "structured_output"]);
    let child = reviewing(&mut client)[1].1["childSessionId"].clone();
    let child = client.request("session/get", json!({ "sessionId": child }))["session"].clone();
    assert_eq!((&child["origin"], &child["parentSessionId"]), (&json!("subagent"), &json!("s")));
    assert_eq!(child["title"], "masked review: turn 1");
}

#[test]
fn clients_hear_of_a_review_right_behind_its_events() {
    let (_world, mock, mut client) = stage(ON, [reads(), say("One."), say("Two.")]);
    mock.add_when(REVIEWER, hand_in(&update()));
    client.complete("s", "Go.");
    let started = client.notification("review/started", |_| true);
    let notice = client.notification("review/notice", |_| true);
    assert_eq!((&started["sessionId"], &started["turn"]), (&json!("s"), &json!(1)));
    assert_eq!(notice["reviewId"], started["reviewId"]);
    assert_eq!((&notice["status"], &notice["published"]), (&json!("update"), &json!(true)));
    assert_eq!(notice["items"], update()["items"]);
    let frames = client.frames();
    for (method, name) in
        [("review/started", "review/claimed"), ("review/notice", "review/settled")]
    {
        let at = frames.iter().position(|frame| frame["method"] == method).unwrap();
        let event = &frames[at - 1]["params"]["event"];
        assert_eq!((&event["type"], &event["seq"]), (&json!(name), &frames[at]["params"]["seq"]));
    }
}

#[test]
fn d9_nothing_new_costs_no_step_and_leaves_nothing_that_the_model_sees() {
    let (_world, mock, mut client) = stage(ON, [reads(), say("One.")]);
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "Go.");
    assert_eq!(mock.requests().len(), 3);
    let found = reviewing(&mut client);
    assert_eq!(types(&found), ["review/claimed", "review/child", "review/settled"]);
    let settled = &found[2].1;
    assert_eq!((&settled["status"], &settled["published"]), (&json!("no_update"), &json!(false)));
    assert_eq!(settled.get("items"), None);
    assert_eq!(client.notification("review/notice", |_| true)["items"], json!([]));
    assert!(!json!(client.conversation("s")).to_string().contains("masked-review"));
}

#[test]
fn d12_all_is_told_of_nothing_and_an_observer_tells_nobody() {
    let all = "- id: tool-deliberation\n  merge: {autoReview: {enabled: true, publish: all}}\n";
    let (_world, mock, mut client) = stage(all, [reads(), say("One."), say("Still one.")]);
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "Go.");
    assert_eq!(notices(&mut client), 1);
    assert_eq!(settled(&mut client)["published"], true);
    assert_eq!(mock.requests().len(), 4);

    let observer =
        "- id: tool-deliberation\n  merge: {autoReview: {enabled: true, publish: observe-only}}\n";
    let (_world, mock, mut client) = stage(observer, [reads(), say("One.")]);
    mock.add_when(REVIEWER, hand_in(&update()));
    client.complete("s", "Go.");
    assert_eq!(notices(&mut client), 0);
    let settled = settled(&mut client);
    assert_eq!((&settled["status"], &settled["published"]), (&json!("update"), &json!(false)));
    assert_eq!(settled["items"], update()["items"], "people see it");
    assert_eq!(mock.requests().len(), 3);
}

#[test]
fn d5_d14_what_a_reviewer_writes_as_text_counts_only_word_for_word() {
    let (_world, mock, mut client) = stage(ON, [reads(), say("One."), say("Two.")]);
    let text = update().to_string();
    let written = Answer::stream().reasoning("hm").delta(&text).finish("stop").done();
    mock.add_when(REVIEWER, written);
    client.complete("s", "Go.");
    assert_eq!(notices(&mut client), 1);

    let (_world, mock, mut client) = stage(ON, [reads(), say("One.")]);
    mock.add_when(REVIEWER, say("It is PRIVATE and fine, I would say."));
    client.complete("s", "Go.");
    let settled = settled(&mut client);
    assert_eq!((&settled["status"], &settled["reason"]), (&json!("failed"), &json!("error")));
    assert_eq!(client.notification("review/notice", |_| true)["reason"], "error");
    assert!(!client.complaints().contains("PRIVATE"), "{}", client.complaints());
}

#[test]
fn references_that_do_not_hold_are_dropped_before_anybody_sees_them() {
    let (_world, mock, mut client) = stage(ON, [reads(), say("One."), say("Two.")]);
    let mut packet = update();
    packet["items"][0]["refs"][0]["quote"] = "nothing like it".into();
    mock.add_when(REVIEWER, hand_in(&packet));
    client.complete("s", "Go.");
    assert_eq!(settled(&mut client)["items"][0].get("refs"), None);
    assert!(!json!(reviewing(&mut client)).to_string().contains("nothing like it"));
}

#[test]
fn a_notice_whose_step_fails_leaves_the_answer_and_the_review_says_so() {
    let refusal = json!({ "error": { "message": "no", "type": "invalid_request_error" } });
    let (_world, mock, mut client) =
        stage(ON, [reads(), say("It has one caller."), Answer::status(400).json(&refusal)]);
    mock.add_when(REVIEWER, hand_in(&update()));
    let outcome = client.complete("s", "Go.");
    assert_eq!(outcome["outcome"]["kind"], "completed");
    assert_eq!(outcome["text"], "It has one caller.");
    let settled: Vec<Value> = reviewing(&mut client)
        .into_iter()
        .filter_map(|(name, data)| (name == "review/settled").then_some(data))
        .collect();
    assert_eq!(settled.len(), 2, "{settled:?}");
    assert_eq!(settled[1]["reason"], "notice-step-failed");
    client.notification("review/notice", |it| it["reason"] == "notice-step-failed");
    let listed = client.request("review/list", json!({ "sessionId": "s" }))["reviews"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(mock.requests().len(), 4);
}

#[test]
fn items_are_listed_and_keep_where_they_stand() {
    let (world, mock, mut client) = stage(ON, [reads(), say("One."), say("Two.")]);
    mock.add_when(REVIEWER, hand_in(&update()));
    client.complete("s", "Go.");
    let list = |client: &mut Client| {
        client.request("review/list", json!({ "sessionId": "s" }))["reviews"].clone()
    };
    let review = list(&mut client)[0].clone();
    assert_eq!((&review["turn"], &review["by"]), (&json!(1), &json!("auto")));
    assert_eq!((&review["status"], &review["published"]), (&json!("update"), &json!(true)));
    assert!(review["settledAt"].is_u64() && review["childSessionId"].is_string());
    let mut item = update()["items"][0].clone();
    item["state"] = "open".into();
    assert_eq!(review["items"], json!([item]));

    let id = review["reviewId"].clone();
    let set = |index: u64, state: &str| json!({ "reviewId": id, "index": index, "state": state });
    client.request("review/setItem", set(0, "dismissed"));
    assert_eq!(list(&mut client)[0]["items"][0]["state"], "dismissed");
    assert_eq!(client.refused("review/setItem", set(1, "open"))["code"], -32602);
    let unknown = json!({ "reviewId": "nothing", "index": 0, "state": "open" });
    let error = client.refused("review/setItem", unknown);
    assert_eq!(error["data"]["kind"], "reviewNotFound");
    let own = json!({ "reviewId": "s", "index": 0, "state": "open" });
    assert_eq!(client.refused("review/setItem", own)["data"]["kind"], "reviewNotFound");
    client.shut_down();

    // Another process, which has not looked at the session yet.
    let mut client = world.ask(&mock);
    client.request("review/setItem", set(0, "accepted"));
    assert_eq!(list(&mut client)[0]["items"][0]["state"], "accepted");
}
