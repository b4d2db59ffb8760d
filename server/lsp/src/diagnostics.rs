//! What reviews and checks have found, as the editor's own diagnostics: pushed, and kept until a person dismisses or
//! accepts them or their line is gone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use dsh_kernel::registration::Registration;
use dsh_protocol::event::Event;
use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::{Notification, SessionChanged};
use dsh_protocol::review::ReviewItemState;
use dsh_rpc::Server;
use dsh_rpc::outbox::Outbox;
use dsh_runtime::notices::Listener;
use dsh_runtime::workspace::Workspace;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::findings::{self, Finding, Origin};
use crate::restore;

/// How many changes may wait to be looked at, and how many findings are kept; the oldest go first.
const WAITING: usize = 1_024;
const MOST: usize = 1_000;

/// How long a file may take to be read.
const READING: Duration = Duration::from_secs(5);

/// Shows findings to one client.
pub(crate) struct Diagnostics {
    server: Arc<Server>,
    changes: OnceLock<mpsc::Sender<Change>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    shown: Vec<Shown>,
    listening: Option<Registration>,
}

/// A finding that is shown.
struct Shown {
    /// The workspace folder.
    folder: PathBuf,
    /// The file that it stands in.
    file: PathBuf,
    finding: Finding,
    /// Whether its line is there. One whose line is gone is kept for when it comes back, as by an undo.
    is_there: bool,
}

/// What may change what is shown.
enum Change {
    Found(Vec<Finding>),
    /// A person said something of what was found.
    Item {
        session: SessionId,
        origin: Origin,
        state: ReviewItemState,
    },
    /// A session was deleted.
    Deleted(SessionId),
    /// A file may have another text.
    Touched(PathBuf),
    /// A folder is not open any more.
    FolderClosed,
}

impl Diagnostics {
    pub(crate) fn new(server: Arc<Server>) -> Arc<Self> {
        Arc::new(Self { server, changes: OnceLock::new(), state: Mutex::default() })
    }

    /// Begins to show findings to a client that has sent this `initialize`.
    pub(crate) fn start(self: &Arc<Self>, initialize: &Value, outbox: &Arc<Outbox>) {
        let (changes, waiting) = mpsc::channel(WAITING);
        if self.changes.set(changes).is_err() {
            return;
        }
        let listener = Arc::clone(self) as Arc<dyn Listener>;
        self.lock().listening = Some(self.server.runtime.notices().listen(listener));
        let workspace = &initialize["capabilities"]["workspace"];
        let asks_again = workspace["codeLens"]["refreshSupport"] == true;
        tokio::spawn(show(Arc::downgrade(self), Arc::downgrade(outbox), waiting, asks_again));
    }

    /// Shows what was found before in the folders that are open. `folder` names one of them; all when absent.
    pub(crate) fn restore(self: &Arc<Self>, folder: Option<String>) {
        let own = Arc::clone(self);
        tokio::spawn(async move {
            let runtime = &own.server.runtime;
            let workspaces = match &folder {
                Some(name) => runtime.workspace(Some(name)).await.map(|it| vec![it]),
                None => runtime.workspaces().await,
            };
            // A folder that cannot be opened is told of when somebody uses it.
            for workspace in workspaces.unwrap_or_default() {
                for session in restore::sessions(&workspace).await {
                    runtime.remember(session.clone(), &workspace);
                    let standing = restore::standing(&workspace, &session, None).await;
                    own.tell_in_time(Change::Found(standing)).await;
                }
            }
        });
    }

    /// A file was opened, changed, saved or closed.
    pub(crate) fn touched(&self, path: PathBuf) {
        if self.lock().shown.iter().any(|shown| shown.file == path) {
            self.tell(Change::Touched(path));
        }
    }

    /// A folder was closed: stops showing what is in none that is open.
    pub(crate) fn folder_closed(&self) {
        self.tell(Change::FolderClosed);
    }

    /// What is shown in a file.
    pub(crate) fn of(&self, path: &Path) -> Vec<Finding> {
        self.on(path, 0, u64::MAX)
    }

    /// What is shown on some lines of a file, counted from 0.
    pub(crate) fn on(&self, path: &Path, first: u64, last: u64) -> Vec<Finding> {
        let state = self.lock();
        let here = state
            .shown
            .iter()
            .filter(|it| it.is_there && it.file == path && it.finding.is_on(first, last));
        here.map(|shown| shown.finding.clone()).collect()
    }

    /// A finding by its key.
    pub(crate) fn get(&self, key: &str) -> Option<Finding> {
        let state = self.lock();
        state.shown.iter().find(|it| it.finding.key == key).map(|shown| shown.finding.clone())
    }

    fn tell(&self, change: Change) {
        let Some(changes) = self.changes.get() else { return };
        if changes.try_send(change).is_err() {
            tracing::warn!("a change of what is shown in files was passed over: too many wait");
        }
    }

    /// The same for a change that can wait until there is room.
    async fn tell_in_time(&self, change: Change) {
        if let Some(changes) = self.changes.get() {
            // Nobody listens any more when the client has gone.
            let _ = changes.send(change).await;
        }
    }

    /// Takes a change in; returns the files whose findings are others now.
    async fn take(&self, change: Change) -> BTreeSet<PathBuf> {
        match change {
            Change::Found(findings) => self.add_all(findings).await,
            Change::Item { session, origin, state } => match state {
                ReviewItemState::Open => self.show_again(&session, origin).await,
                ReviewItemState::Accepted | ReviewItemState::Dismissed => {
                    self.remove(|it| it.finding.session == session && it.finding.origin == origin)
                }
            },
            Change::Touched(path) => self.look_again(path).await,
            Change::Deleted(session) => self.remove(|shown| shown.finding.session == session),
            Change::FolderClosed => {
                let open = self.server.runtime.open_folders();
                self.remove(|shown| !open.contains(&shown.folder))
            }
        }
    }

    async fn add_all(&self, findings: Vec<Finding>) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        for finding in findings {
            files.extend(self.add(finding).await);
        }
        files
    }

    /// Shows a finding, if its place is there.
    async fn add(&self, mut finding: Finding) -> BTreeSet<PathBuf> {
        let Some(workspace) = self.server.runtime.workspace_of(&finding.session).await else {
            return BTreeSet::new();
        };
        if !finding.place(read(&workspace, &finding.path).await.as_deref()) {
            return BTreeSet::new();
        }
        let (folder, file) = (workspace.path().to_owned(), workspace.path().join(&finding.path));
        let mut files = BTreeSet::from([file.clone()]);
        let mut state = self.lock();
        state.shown.retain(|shown| shown.finding.key != finding.key);
        if state.shown.len() == MOST {
            files.insert(state.shown.remove(0).file);
        }
        state.shown.push(Shown { folder, file, finding, is_there: true });
        files
    }

    /// Shows what a session's log says now: something that was set aside is open again.
    async fn show_again(&self, session: &SessionId, opened: Origin) -> BTreeSet<PathBuf> {
        let Some(workspace) = self.server.runtime.workspace_of(session).await else {
            return BTreeSet::new();
        };
        self.add_all(restore::standing(&workspace, session, Some(opened)).await).await
    }

    fn remove(&self, is_gone: impl Fn(&Shown) -> bool) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        self.lock().shown.retain(|shown| {
            let goes = is_gone(shown);
            if goes {
                files.insert(shown.file.clone());
            }
            !goes
        });
        files
    }

    /// Finds the lines of a file's findings again.
    async fn look_again(&self, file: PathBuf) -> BTreeSet<PathBuf> {
        let first = {
            let state = self.lock();
            let first = state.shown.iter().find(|shown| shown.file == file);
            first.map(|shown| (shown.folder.clone(), shown.finding.path.clone()))
        };
        let Some((folder, path)) = first else { return BTreeSet::new() };
        let opened = self.server.runtime.workspace(folder.to_str()).await;
        let Ok(workspace) = opened else { return BTreeSet::new() };
        let text = read(&workspace, &path).await;
        for shown in self.lock().shown.iter_mut().filter(|shown| shown.file == file) {
            shown.is_there = shown.finding.place(text.as_deref());
        }
        BTreeSet::from([file])
    }

    fn publish(&self, outbox: &Outbox, path: &Path) {
        let Ok(uri) = Url::from_file_path(path) else { return };
        let diagnostics: Vec<Value> = {
            let state = self.lock();
            let here = state.shown.iter().filter(|shown| shown.is_there && shown.file == path);
            here.map(|shown| shown.finding.diagnostic()).collect()
        };
        let params = json!({ "uri": uri.as_str(), "diagnostics": diagnostics });
        outbox.send_notification("textDocument/publishDiagnostics", &params);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of a file as the agent sees it, unsaved text included.
async fn read(workspace: &Workspace, path: &str) -> Option<String> {
    let reading = workspace.files()?.text(path.to_owned(), CancellationToken::new());
    tokio::time::timeout(READING, reading).await.ok()?.ok().map(|file| file.text)
}

/// Takes changes one after the other, as long as the client is there. What waits together is published once. A client
/// that asks for code lenses again when it is told to is told so.
async fn show(
    own: std::sync::Weak<Diagnostics>,
    outbox: std::sync::Weak<Outbox>,
    mut waiting: mpsc::Receiver<Change>,
    asks_again: bool,
) {
    let mut together = Vec::new();
    let mut refreshes = 0_u64;
    while waiting.recv_many(&mut together, WAITING).await > 0 {
        let (Some(own), Some(outbox)) = (own.upgrade(), outbox.upgrade()) else { return };
        let mut files = BTreeSet::new();
        let mut touched = BTreeSet::new();
        for change in together.drain(..) {
            if let Change::Touched(path) = change {
                touched.insert(path);
            } else {
                files.extend(own.take(change).await);
            }
        }
        for path in touched {
            files.extend(own.take(Change::Touched(path)).await);
        }
        for path in &files {
            own.publish(&outbox, path);
        }
        if asks_again && !files.is_empty() {
            refreshes += 1;
            let id = format!("dsh-ls/lenses/{refreshes}");
            outbox.send_request(&id, "workspace/codeLens/refresh", &Value::Null);
        }
    }
}

impl Listener for Diagnostics {
    fn notice(&self, notice: &Notification) {
        if let Notification::SessionChanged(SessionChanged::Removed { removed }) = notice {
            return self.tell(Change::Deleted(removed.clone()));
        }
        let found = findings::of(notice);
        if !found.is_empty() {
            self.tell(Change::Found(found));
        }
    }

    fn appended(&self, session: &SessionId, event: &Event) {
        if let Some((origin, state)) = restore::said(&event.data) {
            self.tell(Change::Item { session: session.clone(), origin, state });
        }
    }
}
