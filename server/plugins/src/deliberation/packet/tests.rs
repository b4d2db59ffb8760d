//! Packets: what is one and what is not.

use serde_json::json;

use super::*;

fn is_valid(packet: &Value) -> bool {
    check(packet).is_ok()
}

fn item(content: &str) -> Value {
    json!({ "kind": "suggestion", "certainty": "likely", "content": content })
}

fn update(items: &Value) -> Value {
    json!({ "role": "masked-review", "status": "update", "items": items })
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text { text: text.to_owned() }
}

#[test]
fn d1_the_rules_of_a_packet() {
    let bare = json!({ "role": "masked-review", "status": "no_update" });
    assert_eq!(utf16_length(&bare.to_string()), 45);
    assert!(is_valid(&bare));
    let mut with_items = bare.clone();
    with_items["items"] = json!([]);
    assert!(!is_valid(&with_items));
    assert!(!is_valid(&json!({ "role": "masked-review", "status": "update" })));
    assert!(!is_valid(&update(&json!([]))));
    assert!(is_valid(&update(&json!([item("one")]))));
    assert!(is_valid(&update(&json!([item(&"a".repeat(2_000))]))));
    let twenty: Vec<Value> = (0..20).map(|n| item(&format!("item {n}"))).collect();
    assert!(is_valid(&update(&json!(twenty))));
    let twice = json!([
        item("The same."),
        { "kind": "unknown", "certainty": "certain", "content": " THE SAME. \u{feff}" },
    ]);
    assert!(!is_valid(&update(&twice)));
    assert!(!is_valid(&update(&json!([item(" \n")]))));
    assert!(!is_valid(&json!({ "role": "masked-review", "status": ["no_update"] })));
    assert!(!is_valid(&json!({ "role": "judge", "status": "no_update" })));
    assert!(!is_valid(&json!({ "role": "masked-review", "status": "no_update", "score": 1 })));
    let mut scored = item("one");
    scored["score"] = json!(0.5);
    assert!(!is_valid(&update(&json!([scored]))));
}

#[test]
fn d1_the_limit_counts_utf16_units_of_the_compact_form() {
    assert_eq!(utf16_length(&update(&json!([item("")])).to_string()), 108);
    assert!(is_valid(&update(&json!([item(&"a".repeat(9_892))]))));
    assert!(!is_valid(&update(&json!([item(&"a".repeat(9_893))]))));
    assert!(is_valid(&update(&json!([item(&"😀".repeat(4_946))]))));
    assert!(!is_valid(&update(&json!([item(&format!("{}x", "😀".repeat(4_946)))]))));
}

#[test]
fn refs_are_the_fourth_key_of_an_item() {
    let with = |refs: Value| {
        let mut own = item("one");
        own["refs"] = refs;
        is_valid(&update(&json!([own])))
    };
    assert!(with(json!([])) && with(json!([{ "path": "a.rs" }])));
    assert!(with(json!([{ "path": "a.rs", "line": 1, "quote": "fn a" }])));
    let many = |count: usize| json!(vec![json!({ "path": "a.rs" }); count]);
    assert!(with(many(8)) && !with(many(9)));
    for wrong in [
        json!({}),
        json!([{}]),
        json!([{ "path": " " }]),
        json!([{ "path": "a", "line": 0 }]),
        json!([{ "path": "a", "line": 1.5 }]),
        json!([{ "path": "a", "quote": "" }]),
        json!([{ "path": "a", "column": 1 }]),
    ] {
        assert!(!with(wrong.clone()), "{wrong}");
    }
}

#[test]
fn a_refused_packet_says_what_to_change() {
    let cases = [
        (json!([]), "the packet must be an object"),
        (json!({ "role": "masked-review", "status": "update" }), "needs at least one item"),
        (update(&json!([{ "kind": "vote" }])), "`items[0]`: `kind` must be one of observation"),
        (update(&json!([item("a"), item("A ")])), "`items[1]`: says the same as an earlier item"),
    ];
    for (packet, says) in cases {
        let message = read(&packet, BranchRole::MaskedReview).unwrap_err();
        assert!(message.contains(says), "{message}");
    }
    let other = json!({ "role": "trajectory-audit", "status": "no_update" });
    let message = read(&other, BranchRole::MaskedReview).unwrap_err();
    assert_eq!(message, "`role` must be `masked-review`");
    assert_eq!(read(&other, BranchRole::TrajectoryAudit).unwrap().items, None);
}

#[test]
fn d1_a_last_answer_is_a_packet_only_if_it_is_nothing_else() {
    let exact = r#"{"role":"masked-review","status":"no_update"}"#;
    let reasoning = ContentBlock::Reasoning { text: "hm".to_owned() };
    let image = ContentBlock::Image {
        data: None,
        attachment: Some("a".to_owned()),
        media_type: "image/png".to_owned(),
    };
    assert!(from_answer(&[reasoning.clone(), text(exact)]).is_some());
    let (start, end) = exact.split_at(10);
    assert!(from_answer(&[text("\n"), text(start), text(end)]).is_some());
    for refused in [
        Vec::new(),
        vec![reasoning],
        vec![text(&format!("Here: {exact}"))],
        vec![text(&format!("```json\n{exact}\n```"))],
        vec![text(exact), image],
        vec![text(r#"{"role":"masked-review","status":"update"}"#)],
        vec![text(&format!("{exact}{}", " ".repeat(10))), text("x")],
    ] {
        assert_eq!(from_answer(&refused), None, "{refused:?}");
    }
}

#[test]
fn the_shape_is_closed_and_has_its_own_role() {
    for role in BranchRole::ALL {
        let schema = schema(role);
        assert_eq!(schema["properties"]["role"]["const"], role.as_str());
        assert_eq!(schema["additionalProperties"], false);
        let item = &schema["properties"]["items"]["items"];
        assert_eq!(item["additionalProperties"], false);
        assert_eq!(item["required"], json!(["kind", "certainty", "content"]));
        let text = schema.to_string();
        for keyword in ["minItems", "maxLength", "pattern", "oneOf"] {
            assert!(!text.contains(keyword), "{keyword}");
        }
    }
}
