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
    /// Each running session's progress.
    running: BTreeMap<SessionId, Shown>,
    /// The tokens that the client was asked to take and has not answered for, by the id of the request.
    asked: BTreeMap<String, Asked>,
    listening: Option<Registration>,
}

/// A progress of a running session.
struct Shown {
    token: String,
    /// The client has taken the token: the end is told.
    began: bool,
}

/// A token that the client has not answered for.
struct Asked {
    session: SessionId,
    token: String,
}

/// How many tokens may wait for an answer; a client that answers none is asked no more.
const ASKED_MOST: usize = 100;

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
                .find(|(_, shown)| Some(shown.token.as_str()) == token)
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

    /// The client took a token, or did not: then nothing is told of that progress.
    pub(crate) fn answered(&self, id: &str, is_error: bool) {
        let Some(outbox) = self.outbox.get() else { return };
        let mut state = self.lock();
        let Some(Asked { session, token }) = state.asked.remove(id) else { return };
        let shown = state.running.get_mut(&session).filter(|shown| shown.token == token);
        let is_over = shown.is_none();
        if let Some(shown) = shown {
            shown.began = !is_error;
        }
        // Told under the lock, so that an end cannot come before its beginning.
        if !is_error {
            let value = json!({ "kind": "begin", "title": "dsh-ls", "message": "answering", "cancellable": true });
            tell(outbox, &token, &value);
            if is_over {
                tell(outbox, &token, &json!({ "kind": "end" }));
            }
        }
    }

    fn begin(&self, outbox: &Outbox, session: &SessionId) {
        let (id, token) = {
            let mut state = self.lock();
            if state.running.contains_key(session) || state.asked.len() == ASKED_MOST {
                return;
            }
            state.count += 1;
            let (id, token) =
                (format!("dsh-ls/{}", state.count), format!("dsh-ls/turn/{}", state.count));
            let shown = Shown { token: token.clone(), began: false };
            state.running.insert(session.clone(), shown);
            let asked = Asked { session: session.clone(), token: token.clone() };
            state.asked.insert(id.clone(), asked);
            (id, token)
        };
        outbox.send_request(&id, "window/workDoneProgress/create", &json!({ "token": token }));
    }

    fn end(&self, outbox: &Outbox, session: &SessionId) {
        let mut state = self.lock();
        if let Some(shown) = state.running.remove(session).filter(|shown| shown.began) {
            tell(outbox, &shown.token, &json!({ "kind": "end" }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell(outbox: &Outbox, token: &str, value: &Value) {
    outbox.send_notification("$/progress", &json!({ "token": token, "value": value }));
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
