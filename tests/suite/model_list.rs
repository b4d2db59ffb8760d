//! Which models there are: what rows say, and what a server on the person's own machine says of itself.

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::client::Client;
use dsh_tests::world::World;
use serde_json::{Value, json};

fn models(client: &mut Client, provider: &str) -> Vec<Value> {
    let listed = client.request("model/list", json!({}))["models"].clone();
    let mut models = listed.as_array().unwrap().clone();
    models.retain(|model| model["provider"] == provider);
    models
}

fn list(ids: &[&str]) -> Answer {
    let entries: Vec<_> = ids.iter().map(|id| json!({ "id": id, "object": "model" })).collect();
    Answer::status(200).json(&json!({ "object": "list", "data": entries }))
}

#[test]
fn a_local_server_says_which_models_it_has_now() {
    let world = World::new();
    let mock = MockModel::start([]);
    let mut client = world.ask(&mock);
    assert_eq!(models(&mut client, "local"), Vec::<Value>::new(), "404: it does not say");
    mock.models(list(&["qwen:4b", "mock", "qwen:4b", " "]));
    let entry = |model: &str, default: bool| {
        json!({
            "provider": "local", "model": model, "input": ["text"], "ready": true, "default": default,
        })
    };
    let expected = [entry("qwen:4b", false), entry("mock", true)];
    assert_eq!(models(&mut client, "local"), expected);
    mock.models(list(&[]));
    assert_eq!(models(&mut client, "local"), Vec::<Value>::new());
    assert_eq!(mock.requests(), [], "no model was asked anything");
}

#[test]
fn whatever_a_local_server_does_the_list_comes_and_the_other_models_are_in_it() {
    let world = World::new();
    let mock = MockModel::start([]);
    let mut client = world.ask(&mock);
    let odd = [
        Answer::status(200).hold(),
        Answer::status(200).raw("<html>welcome</html>"),
        Answer::status(200).json(&json!({ "models": ["a"] })),
        Answer::status(302).header("location", "http://127.0.0.1:9/"),
        Answer::status(200).raw("{\"data\": [").reset(),
        Answer::status(500).raw("no"),
    ];
    for answer in odd {
        mock.models(answer);
        assert_eq!(models(&mut client, "local"), Vec::<Value>::new());
        assert_eq!(models(&mut client, "offline").len(), 1);
    }
    drop(mock);
    assert_eq!(models(&mut client, "local"), Vec::<Value>::new());
    assert!(models(&mut client, "deepseek").iter().all(|model| model["ready"] == false));
}

#[test]
fn a_run_names_the_other_models_that_are_ready() {
    let world = World::new();
    let mock = MockModel::start([]);
    mock.models(list(&["small", "large"]));
    let mut command = world.command(["run", "--model", "offline/retrieval", "where is nothing?"]);
    command.env("DSH_LS_LOCAL_URL", mock.url());
    let ran = command.output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains("(also ready: local/small, local/large; choose with --model)"), "{said}");
}
