//! What reviews and checks have found, as the editor's own diagnostics: pushed, and kept until a person dismisses or
//! accepts them or their line is gone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use dsh_kernel::registration::Registration;
use dsh_protocol::event::{Event, EventData, ReviewItemChanged};
use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::Notification;
use dsh_protocol::review::ReviewItemState;
use dsh_rpc::Server;
use dsh_rpc::outbox::Outbox;
use dsh_runtime::notices::Listener;
use dsh_runtime::workspace::Workspace;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::findings::{Finding, Origin, of_check, of_review};

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
    /// The findings that are shown, each with the file that it stands in.
    shown: Vec<(PathBuf, Finding)>,
    listening: Option<Registration>,
}

/// What may change what is shown.
enum Change {
    Found(Vec<Finding>),
    /// A person said something of an item.
    Item(ReviewItemChanged),
    /// A finding is not to be shown any more.
    Gone(String),
    /// A file may have another text.
    Touched(PathBuf),
}

impl Diagnostics {
    pub(crate) fn new(server: Arc<Server>) -> Arc<Self> {
        Arc::new(Self { server, changes: OnceLock::new(), state: Mutex::default() })
    }

    /// Begins to show findings.
    pub(crate) fn start(self: &Arc<Self>, outbox: &Arc<Outbox>) {
        let (changes, waiting) = mpsc::channel(WAITING);
        if self.changes.set(changes).is_err() {
            return;
        }
        let listener = Arc::clone(self) as Arc<dyn Listener>;
        self.lock().listening = Some(self.server.runtime.notices().listen(listener));
        tokio::spawn(show(Arc::downgrade(self), Arc::downgrade(outbox), waiting));
    }

    /// A file was opened, changed, saved or closed.
    pub(crate) fn touched(&self, path: PathBuf) {
        if self.lock().shown.iter().any(|(own, _)| *own == path) {
            self.tell(Change::Touched(path));
        }
    }

    /// Stops showing a finding.
    pub(crate) fn forget(&self, key: &str) {
        self.tell(Change::Gone(key.to_owned()));
    }

    /// What is shown on some lines of a file, counted from 0.
    pub(crate) fn on(&self, path: &Path, first: u64, last: u64) -> Vec<Finding> {
        let state = self.lock();
        let here = state.shown.iter().filter(|(own, it)| own == path && it.is_on(first, last));
        here.map(|(_, finding)| finding.clone()).collect()
    }

    /// A finding by its key.
    pub(crate) fn get(&self, key: &str) -> Option<Finding> {
        let state = self.lock();
        state.shown.iter().find(|(_, it)| it.key == key).map(|(_, finding)| finding.clone())
    }

    fn tell(&self, change: Change) {
        let Some(changes) = self.changes.get() else { return };
        if changes.try_send(change).is_err() {
            tracing::warn!("a change of what is shown in files was passed over: too many wait");
        }
    }

    /// Takes a change in; returns the files whose findings are others now.
    async fn take(&self, change: Change) -> BTreeSet<PathBuf> {
        match change {
            Change::Found(findings) => {
                let mut files = BTreeSet::new();
                for finding in findings {
                    files.extend(self.add(finding).await);
                }
                files
            }
            Change::Item(changed) => match changed.state {
                ReviewItemState::Open => BTreeSet::new(),
                ReviewItemState::Accepted | ReviewItemState::Dismissed => {
                    let origin = Origin::Review(changed.review_id, changed.index);
                    self.remove(|finding| finding.origin == origin)
                }
            },
            Change::Gone(key) => self.remove(|finding| finding.key == key),
            Change::Touched(path) => self.look_again(path).await,
        }
    }

    /// Shows a finding, if its place is there.
    async fn add(&self, mut finding: Finding) -> BTreeSet<PathBuf> {
        let Some(workspace) = self.workspace(&finding.session).await else {
            return BTreeSet::new();
        };
        let text = read(&workspace, &finding.path).await;
        let Some(text) = text.filter(|text| finding.place(text)) else { return BTreeSet::new() };
        drop(text);
        let path = workspace.path().join(&finding.path);
        let mut files = BTreeSet::from([path.clone()]);
        let mut state = self.lock();
        state.shown.retain(|(_, own)| own.key != finding.key);
        if state.shown.len() == MOST {
            files.insert(state.shown.remove(0).0);
        }
        state.shown.push((path, finding));
        files
    }

    fn remove(&self, is_gone: impl Fn(&Finding) -> bool) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        self.lock().shown.retain(|(path, finding)| {
            let goes = is_gone(finding);
            if goes {
                files.insert(path.clone());
            }
            !goes
        });
        files
    }

    /// Finds the lines of a file's findings again; those whose line is gone go.
    async fn look_again(&self, path: PathBuf) -> BTreeSet<PathBuf> {
        let first = {
            let state = self.lock();
            state.shown.iter().find(|(own, _)| *own == path).map(|(_, finding)| finding.clone())
        };
        let Some(first) = first else { return BTreeSet::new() };
        let Some(workspace) = self.workspace(&first.session).await else { return BTreeSet::new() };
        let text = read(&workspace, &first.path).await;
        self.lock().shown.retain_mut(|(own, finding)| {
            *own != path || text.as_ref().is_some_and(|text| finding.place(text))
        });
        BTreeSet::from([path])
    }

    async fn workspace(&self, session: &SessionId) -> Option<Arc<Workspace>> {
        self.server.runtime.session(session).await.ok().map(|(workspace, _)| workspace)
    }

    fn publish(&self, outbox: &Outbox, path: &Path) {
        let Ok(uri) = Url::from_file_path(path) else { return };
        let diagnostics: Vec<Value> = {
            let state = self.lock();
            let here = state.shown.iter().filter(|(own, _)| own == path);
            here.map(|(_, finding)| finding.diagnostic()).collect()
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

/// Takes changes one after the other, as long as the client is there. What waits together is published once.
async fn show(
    own: std::sync::Weak<Diagnostics>,
    outbox: std::sync::Weak<Outbox>,
    mut waiting: mpsc::Receiver<Change>,
) {
    let mut together = Vec::new();
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
        for path in files {
            own.publish(&outbox, &path);
        }
    }
}

impl Listener for Diagnostics {
    fn notice(&self, notice: &Notification) {
        let found = if let Notification::ReviewNotice(notice) = notice {
            of_review(notice)
        } else if let Notification::EvidenceChecked(notice) = notice {
            of_check(notice)
        } else {
            return;
        };
        if !found.is_empty() {
            self.tell(Change::Found(found));
        }
    }

    fn appended(&self, _session: &SessionId, event: &Event) {
        if let EventData::ReviewItemChanged(changed) = &event.data {
            self.tell(Change::Item(changed.clone()));
        }
    }
}
