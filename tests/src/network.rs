//! Processes that ask a [`MockModel`] over the network, and the comparison of what it was asked with the log.

use std::process::Command;

use dsh_mock_model::server::MockModel;
use serde_json::{Value, json};

use crate::client::Client;
use crate::framing::Framing;
use crate::world::World;

impl World {
    /// A command that runs one door of `dsh-ls` with a local model on `mock`.
    pub fn door(&self, door: &str, mock: &MockModel) -> Command {
        let mut command = self.command([door, "--model", "local/mock"]);
        command.env("DSH_LS_LOCAL_URL", format!("{}/v1", mock.url()));
        command
    }

    /// A server of scripts that asks `mock` as a local model, initialized.
    pub fn ask(&self, mock: &MockModel) -> Client {
        let mut client = Client::spawn(self.door("rpc", mock));
        client.initialize();
        client
    }

    /// A server of scripts that asks `mock` as DeepSeek with a key, initialized.
    pub fn ask_deepseek(&self, mock: &MockModel, key: &str) -> Client {
        let mut command = self.command(["rpc", "--model", "deepseek/deepseek-v4-flash"]);
        command.env("DEEPSEEK_BASE_URL", mock.url()).env("DEEPSEEK_API_KEY", key);
        let mut client = Client::spawn(command);
        client.initialize();
        client
    }

    /// A server of an editor that asks `mock` and has this world's workspace open, initialized.
    pub fn edit(&self, mock: &MockModel) -> Client {
        let mut client = Client::spawn_framed(self.door("lsp", mock), Framing::Lengths);
        client.initialize_as(self.editor());
        client
    }

    /// What an editor says in `initialize`.
    pub fn editor(&self) -> Value {
        let uri = format!("file://{}", self.work().display());
        json!({
            "processId": null,
            "workspaceFolders": [{ "uri": uri, "name": "work" }],
            "capabilities": { "window": { "workDoneProgress": true } },
        })
    }
}

/// Every request in the log of a session, made again by the server, is what `mock` received, byte for byte.
/// Returns how many there are.
#[track_caller]
pub fn check_requests(client: &mut Client, session: &str, mock: &MockModel) -> usize {
    let received = mock.requests();
    let params = json!({ "sessionId": session, "types": ["llm/request"], "limit": 5000 });
    let page = client.request("session/events", params);
    let logged = page["events"].as_array().unwrap();
    assert_eq!(logged.len(), received.len(), "requests in the log and at the model's server");
    for (at, (event, received)) in logged.iter().zip(&received).enumerate() {
        let sent = &event["data"];
        let mut params = json!({
            "sessionId": session, "turn": sent["turn"], "step": sent["step"], "attempt": sent["attempt"],
        });
        let rebuilt = client.request("session/request", params.clone());
        let body = rebuilt["body"].as_str().unwrap();
        assert!(body.as_bytes() == received.body, "{sent} was made again as\n{body}");
        assert_eq!(rebuilt["exact"], true, "{sent}");
        let is_last = logged.get(at + 1).is_none_or(|next| next["data"]["step"] != sent["step"]);
        if is_last && sent["attempt"] != 1 {
            params.as_object_mut().unwrap().remove("attempt");
            assert_eq!(client.request("session/request", params)["body"], body, "the last attempt");
        }
    }
    received.len()
}
