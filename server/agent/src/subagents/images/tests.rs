//! Each way in which images are admitted or refused; the model's adapter is the only one that is made up.

use dsh_llm::adapter::{Adapter, Chunks, Offer, Request};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::subagents::request::Route;

/// A provider whose models take what they are called after.
struct Eyes;

impl Adapter for Eyes {
    fn provider(&self) -> &'static str {
        "eyes"
    }

    fn offers(&self) -> Vec<Offer> {
        let offer = |model: &str, input: &[Modality]| Offer {
            model: model.to_owned(),
            context_window: None,
            input: input.to_vec(),
        };
        vec![
            offer("sees", &[Modality::Text, Modality::Image]),
            offer("reads", &[Modality::Text]),
            offer("silent", &[]),
        ]
    }

    fn stream(&self, _: Request, _: CancellationToken) -> Chunks {
        unreachable!("nobody is asked")
    }
}

fn image() -> Value {
    json!({ "type": "image", "data": "AAAAAAAA", "mediaType": "image/png" })
}

/// A turn in which a person and the model said these blocks, and a tool answered these.
fn turn(asked: &Value, said: &Value, answered: &Value) -> Vec<Arc<Event>> {
    let call = json!({ "type": "tool-call", "id": "c", "name": "look", "arguments": "{}" });
    let mut blocks = said.as_array().unwrap().clone();
    blocks.push(call);
    let user =
        json!({ "id": "m1", "role": "user", "content": asked, "source": { "kind": "user" } });
    let model = json!({ "kind": "model", "provider": "eyes", "model": "sees" });
    let answer = json!({ "id": "m2", "role": "assistant", "content": blocks, "source": model });
    let block = json!({ "type": "tool-result", "toolCallId": "c", "content": answered });
    let source = json!({ "kind": "tool", "callId": "c" });
    let result = json!({ "id": "m3", "role": "tool", "content": [block], "source": source });
    let step = json!({ "turn": 1, "step": 1 });
    let message = |message: Value| json!({ "turn": 1, "step": 1, "message": message });
    let called = json!({ "turn": 1, "step": 1, "callId": "c", "name": "look", "arguments": "{}" });
    let ended = json!({ "turn": 1, "reason": { "kind": "completed" } });
    let all = [
        ("turn/start", json!({ "turn": 1 }), json!({})),
        ("step/start", step.clone(), json!({})),
        ("user/message", user, json!({ "surfaceOp": "append" })),
        (
            "assistant/message",
            message(answer),
            json!({ "surfaceOp": "append", "sourceEventSeqs": [] }),
        ),
        ("tool/call", called, json!({})),
        ("tool/result", message(result), json!({ "surfaceOp": "append", "sourceEventSeqs": [4] })),
        ("step/end", step, json!({})),
        ("turn/end", ended, json!({})),
    ];
    let event = |(seq, (name, data, more)): (usize, (&str, Value, Value))| {
        let mut event = json!({ "type": name, "seq": seq, "time": 1, "data": data });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Arc::new(serde_json::from_value(event).unwrap())
    };
    all.into_iter().enumerate().map(event).collect()
}

fn request(prompt: &Value, route: Route) -> StartRequest {
    let prompt = serde_json::from_value(prompt.clone()).unwrap();
    StartRequest { route, ..StartRequest::new("s".into(), prompt) }
}

/// What is said of a child that asks `model`, has this prompt and inherits this.
fn said(model: &str, prompt: &Value, route: Route, seed: &[Arc<Event>]) -> Option<ImageRefusal> {
    let models = Models::default();
    let _registration = models.register(Arc::new(Eyes)).unwrap();
    let model = ModelId::parse(model).unwrap();
    match admit(&models, &model, &request(prompt, route), seed) {
        Ok(()) => None,
        Err(StartError::Images(refusal)) => Some(refusal),
        Err(other) => panic!("{other}"),
    }
}

fn code(model: &str, prompt: &Value, seed: &[Arc<Event>]) -> Option<&'static str> {
    said(model, prompt, Route::default(), seed).map(|refusal| refusal.code.as_str())
}

#[test]
fn m10_a_model_that_sees_gets_images_from_wherever_they_come() {
    let nothing = json!([]);
    let one = json!([image()]);
    assert_eq!(code("eyes/sees", &one, &[]), None);
    assert_eq!(code("eyes/sees", &nothing, &turn(&one, &nothing, &one)), None);
    assert_eq!(code("eyes/reads", &nothing, &turn(&nothing, &nothing, &nothing)), None);
    // Without an image nobody looks the model up.
    assert_eq!(code("nobody/knows", &nothing, &[]), None);
}

#[test]
fn m10_each_refusal_has_its_code_and_the_first_that_holds_counts() {
    let (nothing, one) = (json!([]), json!([image()]));
    let of_person = turn(&one, &nothing, &nothing);
    let of_tool = turn(&nothing, &nothing, &one);
    let of_model = turn(&nothing, &one, &nothing);
    for seed in [&of_person, &of_tool] {
        assert_eq!(code("eyes/reads", &nothing, seed), Some("IMAGE_INPUT_UNSUPPORTED"));
    }
    assert_eq!(code("eyes/reads", &one, &[]), Some("IMAGE_INPUT_UNSUPPORTED"));
    assert_eq!(code("eyes/silent", &one, &[]), Some("IMAGE_CAPABILITY_UNKNOWN"));
    assert_eq!(code("nobody/knows", &one, &[]), Some("IMAGE_ROUTE_UNVERIFIED"));
    for model in ["eyes/sees", "nobody/knows"] {
        assert_eq!(code(model, &one, &of_model), Some("ASSISTANT_IMAGE_IN_SEED"));
    }
    let half = Route { provider: Some("nobody".to_owned()), ..Route::default() };
    let unresolved = said("nobody/sees", &one, half.clone(), &[]).unwrap();
    assert_eq!(unresolved.code.as_str(), "IMAGE_ROUTE_UNRESOLVED");
    let made = said("nobody/sees", &nothing, half, &of_model).unwrap();
    assert_eq!(made.code.as_str(), "ASSISTANT_IMAGE_IN_SEED");
}

#[test]
fn m10_a_refusal_counts_what_the_child_would_have_seen() {
    let one = json!([image()]);
    let refusal =
        said("eyes/reads", &one, Route::default(), &turn(&one, &one, &json!([image(), image()])));
    let ImageRefusal { images, image_bytes, assistant_seed_images, .. } = refusal.unwrap();
    assert_eq!((images, image_bytes, assistant_seed_images), (5, 30, 1));
}
