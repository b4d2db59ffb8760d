//! A running turn as the editor's own progress, where the editor shows any.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use dsh_kernel::registration::Registration;
use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::Notification;
use dsh_protocol::session::SessionStatus;
use dsh_protocol::turn::AbortReason;
use dsh_rpc::Server;
use dsh_rpc::extension::BoxFuture;
use dsh_rpc::outbox::Outbox;
use dsh_runtime::agent::agent::Cancel;
use dsh_runtime::notices::Listener;
use serde_json::{Value, json};

/// Reports running turns to one client.
pub(crate) struct Progress {
    server: Arc<Server>,
    outbox: OnceLock<Arc<Outbox>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many have been reported, for tokens that are never used twice.
    count: u64,
    /// The token of each running session's progress.
    running: BTreeMap<SessionId, String>,
    listening: Option<Registration>,
}

impl Progress {
    pub(crate) fn new(server: Arc<Server>) -> Arc<Self> {
        Arc::new(Self { server, outbox: OnceLock::new(), state: Mutex::default() })
    }

    /// Begins to report, if the client says that it shows progress.
    pub(crate) fn start(self: &Arc<Self>, initialize: &Value, outbox: &Arc<Outbox>) {
        if initialize["capabilities"]["window"]["workDoneProgress"] != true {
            return;
        }
        let _ = self.outbox.set(Arc::clone(outbox));
        let listener = Arc::clone(self) as Arc<dyn Listener>;
        let listening = self.server.runtime.notices().listen(listener);
        self.lock().listening = Some(listening);
    }

    /// The person cancelled a progress: the turn behind it is cancelled.
    pub(crate) fn cancel(&self, params: &Value) -> BoxFuture<()> {
        let session = {
            let state = self.lock();
            let token = params["token"].as_str();
            state
                .running
                .iter()
                .find(|(_, known)| Some(known.as_str()) == token)
                .map(|(id, _)| id.clone())
        };
        let server = Arc::clone(&self.server);
        Box::pin(async move {
            let Some(session) = session else { return };
            if let Ok((_, agent)) = server.runtime.session(&session).await {
                let cancel = Cancel { turn: None, keep_queue: false, reason: AbortReason::User };
                let _ = agent.cancel(cancel).await;
            }
        })
    }

    fn begin(&self, outbox: &Outbox, session: &SessionId) {
        let (count, token) = {
            let mut state = self.lock();
            state.count += 1;
            let token = format!("dsh-ls/turn/{}", state.count);
            if state.running.insert(session.clone(), token.clone()).is_some() {
                return;
            }
            (state.count, token)
        };
        // Nothing waits for the answer: a client that refuses the token passes over what follows.
        outbox.send_request(
            &format!("dsh-ls/{count}"),
            "window/workDoneProgress/create",
            &json!({ "token": token }),
        );
        let value = json!({ "kind": "begin", "title": "dsh-ls", "message": "answering", "cancellable": true });
        outbox.send_notification("$/progress", &json!({ "token": token, "value": value }));
    }

    fn end(&self, outbox: &Outbox, session: &SessionId) {
        if let Some(token) = self.lock().running.remove(session) {
            outbox.send_notification(
                "$/progress",
                &json!({ "token": token, "value": { "kind": "end" } }),
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Progress {
    fn notice(&self, notice: &Notification) {
        let (Notification::SessionStatus(changed), Some(outbox)) = (notice, self.outbox.get())
        else {
            return;
        };
        match changed.status {
            SessionStatus::Running => self.begin(outbox, &changed.session_id),
            SessionStatus::Idle | SessionStatus::Parked => self.end(outbox, &changed.session_id),
        }
    }
}
