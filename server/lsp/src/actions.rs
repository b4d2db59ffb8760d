//! Code actions and code lenses on findings: *Ask the agent about this* and *Dismiss*.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use dsh_protocol::content::ContentBlock;
use dsh_protocol::error::RpcError;
use dsh_protocol::event::{EventData, EvidenceItemChanged, ReviewItemChanged};
use dsh_protocol::params::session::Delivery;
use dsh_protocol::review::ReviewItemState;
use dsh_rpc::Server;
use dsh_rpc::outbox::Outbox;
use dsh_runtime::agent::agent::{Agent, Prompt};
use dsh_runtime::agent::wait::wait;
use serde_json::{Map, Value, json};
use url::Url;

use crate::diagnostics::Diagnostics;
use crate::findings::{Finding, Origin};

/// Editors register these beside the commands of their own extension, whose names must be others.
const ASK: &str = "dsh-ls.finding.ask";
const DISMISS: &str = "dsh-ls.finding.dismiss";

/// Offers code actions to one client and runs them.
pub(crate) struct Actions {
    server: Arc<Server>,
    diagnostics: Arc<Diagnostics>,
    client: OnceLock<Client>,
}

struct Client {
    outbox: std::sync::Weak<Outbox>,
    shows_documents: bool,
}

impl Actions {
    pub(crate) fn new(server: Arc<Server>, diagnostics: Arc<Diagnostics>) -> Arc<Self> {
        Arc::new(Self { server, diagnostics, client: OnceLock::new() })
    }

    /// Learns what the client can do; adds what the server offers.
    pub(crate) fn start(
        &self,
        initialize: &Value,
        outbox: &Arc<Outbox>,
        capabilities: &mut Map<String, Value>,
    ) {
        let shows_documents =
            initialize["capabilities"]["window"]["showDocument"]["support"] == true;
        let _ = self.client.set(Client { outbox: Arc::downgrade(outbox), shows_documents });
        let lenses = json!({ "resolveProvider": false });
        capabilities.insert("codeLensProvider".to_owned(), lenses);
        capabilities
            .insert("codeActionProvider".to_owned(), json!({ "codeActionKinds": ["quickfix"] }));
        let commands = json!({ "commands": [ASK, DISMISS] });
        capabilities.insert("executeCommandProvider".to_owned(), commands);
    }

    /// Answers `textDocument/codeAction`.
    pub(crate) fn offered(&self, params: &Value) -> Result<Value, RpcError> {
        let range = &params["range"];
        let line = |end: &str| range[end]["line"].as_u64();
        let uri = params["textDocument"]["uri"].as_str();
        let (Some(uri), Some(first), Some(last)) = (uri, line("start"), line("end")) else {
            return Err(RpcError::invalid_params("`textDocument.uri` and `range` are required"));
        };
        let Some(path) = path(uri) else { return Ok(json!([])) };
        let mut found = self.diagnostics.on(&path, first, last);
        // Where the editor shows one right after an edit, before its line was looked for again.
        for key in shown(&params["context"]["diagnostics"]) {
            if found.iter().all(|finding| finding.key != key) {
                found.extend(self.diagnostics.get(key));
            }
        }
        let mut actions = Vec::new();
        for finding in found {
            for command in commands(&finding) {
                actions.push(json!({
                    "title": command["title"],
                    "kind": "quickfix",
                    "diagnostics": [finding.diagnostic()],
                    "command": command,
                }));
            }
        }
        Ok(Value::Array(actions))
    }

    /// Answers `textDocument/codeLens`: above the line of each finding, what can be done about it.
    pub(crate) fn lenses(&self, params: &Value) -> Result<Value, RpcError> {
        let Some(uri) = params["textDocument"]["uri"].as_str() else {
            return Err(RpcError::invalid_params("`textDocument.uri` is required"));
        };
        let Some(path) = path(uri) else { return Ok(json!([])) };
        let mut lenses = Vec::new();
        let found = self.diagnostics.of(&path);
        for finding in &found {
            let is_alone = found.iter().filter(|it| it.is_beside(finding)).count() == 1;
            for mut command in commands(finding) {
                if !is_alone && let Some(title) = command["title"].as_str() {
                    command["title"] = format!("{title} ({})", finding.code).into();
                }
                lenses.push(json!({ "range": finding.diagnostic()["range"], "command": command }));
            }
        }
        Ok(Value::Array(lenses))
    }

    /// Answers `workspace/executeCommand`. An answer that is asked for comes later.
    pub(crate) async fn run(self: Arc<Self>, params: Value) -> Result<Value, RpcError> {
        let Some(key) = params["arguments"][0].as_str() else {
            return Err(RpcError::invalid_params("`arguments` must name a finding"));
        };
        let finding = self.diagnostics.get(key).ok_or_else(|| {
            RpcError::invalid_params(format!("there is no finding `{key}` any more"))
        })?;
        match params["command"].as_str().unwrap_or_default() {
            ASK => self.ask(finding).await?,
            DISMISS => self.dismiss(&finding).await?,
            other => {
                return Err(RpcError::invalid_params(format!(
                    "there is no command `{other}`; there are {ASK} and {DISMISS}"
                )));
            }
        }
        Ok(Value::Null)
    }

    async fn dismiss(&self, finding: &Finding) -> Result<(), RpcError> {
        let state = ReviewItemState::Dismissed;
        // What the log says takes it away.
        let changed = match finding.origin.clone() {
            Origin::Review(review_id, index) => {
                EventData::ReviewItemChanged(ReviewItemChanged { review_id, index, state })
            }
            Origin::Evidence(seq, index) => {
                EventData::EvidenceItemChanged(EvidenceItemChanged { seq, index, state })
            }
        };
        let agent = self.agent(finding).await?;
        agent.record_on_disk(vec![changed]).await.map_err(|error| dsh_rpc::command_failed(&error))
    }

    async fn ask(self: Arc<Self>, finding: Finding) -> Result<(), RpcError> {
        let agent = self.agent(&finding).await?;
        let prompt = Prompt {
            content: vec![ContentBlock::text(finding.question())],
            delivery: Delivery::Followup,
            client_message_id: None,
        };
        let receipt =
            agent.prompt(prompt).await.map_err(|error| dsh_rpc::command_failed(&error))?;
        tokio::spawn(async move {
            if let Ok(waited) = wait(&agent, Some(&receipt.message_id)).await
                && !waited.text.is_empty()
            {
                self.show(receipt.message_id.as_str(), waited.text).await;
            }
        });
        Ok(())
    }

    /// Shows an answer: as a document where the client can, else as a message.
    async fn show(&self, name: &str, text: String) {
        let Some(client) = self.client.get() else { return };
        let Some(outbox) = client.outbox.upgrade() else { return };
        let uri = if client.shows_documents {
            let kept = self.server.runtime.keep_answer(name, &text).await;
            kept.map_err(|error| tracing::warn!(%error, "an answer was not kept")).ok()
        } else {
            None
        };
        match uri.and_then(|path| Url::from_file_path(path).ok()) {
            Some(uri) => outbox.send_request(
                &format!("dsh-ls/answer/{name}"),
                "window/showDocument",
                &json!({ "uri": uri.as_str(), "takeFocus": true }),
            ),
            None => outbox
                .send_notification("window/showMessage", &json!({ "type": 3, "message": text })),
        }
    }

    async fn agent(&self, finding: &Finding) -> Result<Agent, RpcError> {
        let found = self.server.runtime.session(&finding.session).await;
        found.map(|(_, agent)| agent).map_err(|error| RpcError::invalid_params(error.to_string()))
    }
}

/// The keys of those diagnostics that are ours.
fn shown(diagnostics: &Value) -> impl Iterator<Item = &str> {
    diagnostics.as_array().into_iter().flatten().filter_map(|it| it["data"]["key"].as_str())
}

/// What can be done about a finding.
fn commands(finding: &Finding) -> [Value; 2] {
    [("Ask the agent about this", ASK), ("Dismiss", DISMISS)].map(|(title, command)| {
        json!({ "title": title, "command": command, "arguments": [finding.key] })
    })
}

fn path(uri: &str) -> Option<PathBuf> {
    Url::parse(uri).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}
