//! The agents of one workspace folder: the `agents` service.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dsh_kernel::hooks::Hooks;
use dsh_kernel::service::Key;
use dsh_protocol::content::Usage;
use dsh_protocol::event::{Event, EventData, SessionTitle};
use dsh_protocol::ids::{ModelId, SessionId};
use dsh_protocol::session::{
    FileHeader, ForkPoint, Queue, SessionInfo, SessionStatus, Totals, Writer as OtherWriter,
};
use dsh_protocol::turn::AbortReason;
use dsh_session::fold::Violation;
use dsh_session::log::Page;
use dsh_session::store::{Listed, PageWanted, StorageError, StoreError, Summary, Unreadable};
use dsh_session::writer::Writer;
use tokio::sync::{Notify, OnceCell};

use crate::agent::{Agent, CommandError};
use crate::agent_loop::{AgentLoop, choose_model, model_of};
use crate::host::Host;
use crate::sessions::Sessions;
use crate::setup::Setup;

mod end;
mod fork;
mod idle;

pub use fork::ForkFailed;

/// The service's name.
pub const AGENTS: Key<Agents> = Key::new("agents");

#[derive(Default)]
struct Live {
    cells: BTreeMap<SessionId, Loaded>,
    /// Those that are being deleted, so that nobody loads them again meanwhile.
    deleting: BTreeSet<SessionId>,
    /// Whether they were all ended, so that no more may start.
    closed: bool,
}

/// An agent that is loaded, or is about to be.
struct Loaded {
    cell: Arc<OnceCell<Agent>>,
    /// When it was last seen in use.
    used: Instant,
}

impl Loaded {
    fn new(agent: Option<Agent>) -> Self {
        Self { cell: Arc::new(OnceCell::new_with(agent)), used: Instant::now() }
    }

    fn agent(&self) -> Option<&Agent> {
        self.cell.get()
    }

    /// Whether there is an agent that has not ended by itself, as one does whose session is deleted elsewhere.
    fn is_live(&self) -> bool {
        self.agent().is_some_and(|agent| !agent.is_closed())
    }
}

/// The agents that are loaded, and the way to those that are not.
pub struct Agents {
    host: Arc<Host>,
    sessions: Arc<Sessions>,
    agent_loop: Arc<dyn AgentLoop>,
    default_model: Arc<ModelId>,
    hooks: Hooks,
    live: Mutex<Live>,
    /// Tells that one more is loaded.
    loaded: Notify,
}

/// A session that is to be created.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// Its id; one is made when absent.
    pub id: Option<SessionId>,
    /// Its title.
    pub title: Option<String>,
    /// The model that its turns ask.
    pub model: Option<ModelId>,
    /// Further folders that its tools see, as absolute paths.
    pub folders: Vec<String>,
}

/// A session that is not loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOnDisk {
    /// What clients see of it.
    pub info: SessionInfo,
    /// Tokens of its last request.
    pub usage: Option<Usage>,
    /// Tokens of all its requests.
    pub totals: Totals,
    /// The messages that wait.
    pub queue: Queue,
}

/// Why a session could not be created or opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The agent did not start.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// What the agents depend on is being replaced, or the program ends.
    #[error("the agents are being replaced; try again")]
    Closed,
}

impl Agents {
    /// Agents that are run by `agent_loop`.
    pub fn new(
        host: Arc<Host>,
        sessions: Arc<Sessions>,
        agent_loop: Arc<dyn AgentLoop>,
        default_model: Arc<ModelId>,
        hooks: Hooks,
    ) -> Self {
        Self {
            host,
            sessions,
            agent_loop,
            default_model,
            hooks,
            live: Mutex::default(),
            loaded: Notify::new(),
        }
    }

    /// The model that new sessions use.
    pub fn default_model(&self) -> ModelId {
        choose_model(&self.host, None, &self.default_model)
    }

    /// The model that an agent's next turn asks.
    pub(crate) fn model(&self, agent: &Agent) -> ModelId {
        let own = agent.log().read(dsh_session::fold::Fold::own_model);
        model_of(&self.host, agent.log().header(), own.as_ref(), &self.default_model)
    }

    /// Creates a session and starts its agent. Telling others of it is the caller's part: whoever asked must
    /// hear of it first.
    pub async fn create(&self, new: NewSession) -> Result<Agent, OpenError> {
        let mut header = self.header(new.id);
        header.additional_workspaces = new.folders;
        let mut first = Vec::new();
        if let Some(model) = new.model {
            first.push(EventData::SessionModel(model));
        }
        if let Some(title) = new.title {
            first.push(EventData::SessionTitle(SessionTitle { title }));
        }
        let writer = self.sessions.create(header).await?;
        self.enter(self.agent_loop.start(writer, first, Setup::default())).await
    }

    /// Creates a session that begins with events of another one, and then `first`, all on disk, and starts its
    /// agent. Dropping the future may leave a session without an agent, never an agent.
    pub(crate) async fn create_child(
        &self,
        header: FileHeader,
        seed: Vec<Arc<Event>>,
        first: Vec<EventData>,
        setup: Setup,
    ) -> Result<Agent, OpenError> {
        let id = header.id.clone();
        let writer = self.sessions.create(header).await?;
        match seeded(writer, seed, first).await {
            Ok(writer) => self.enter(self.agent_loop.start(writer, Vec::new(), setup)).await,
            Err(error) => {
                // Half a seed is no session.
                if let Err(error) = self.sessions.discard(id.clone()).await {
                    tracing::warn!(session = %id, %error, "what there is of it stays");
                }
                Err(error.into())
            }
        }
    }

    /// A header of a new session.
    pub(crate) fn header(&self, id: Option<SessionId>) -> FileHeader {
        FileHeader {
            r#type: "session".to_owned(),
            version: FileHeader::VERSION,
            id: id.unwrap_or_else(|| SessionId::from((self.host.new_id)())),
            created_at: (self.host.clock)(),
            cwd: self.host.workspace.to_string_lossy().into_owned(),
            parent_session: None,
            seed_length: None,
            origin: None,
            delegation_depth: None,
            additional_workspaces: Vec::new(),
            other: BTreeMap::new(),
        }
    }

    /// Makes a new agent known.
    async fn enter(&self, agent: Agent) -> Result<Agent, OpenError> {
        self.lock().cells.insert(agent.id().clone(), Loaded::new(Some(agent.clone())));
        self.loaded.notify_one();
        self.unless_closed(agent).await
    }

    /// Ends an agent and forgets it; its session stays. Whoever wants it later loads it again.
    pub(crate) async fn unload(&self, agent: &Agent, reason: AbortReason) {
        agent.close(reason).await;
        let mut live = self.lock();
        let is_it = |loaded: &Loaded| {
            loaded.agent().is_some_and(|known| Arc::ptr_eq(known.log(), agent.log()))
        };
        if live.cells.get(agent.id()).is_some_and(is_it) {
            live.cells.remove(agent.id());
        }
    }

    /// The agent of a session: the one that is loaded, else a new one on the session's log. Nothing is
    /// appended.
    pub async fn open(&self, id: &SessionId) -> Result<Agent, OpenError> {
        // The cell makes two callers at once load the session once; the lock is not held meanwhile.
        let cell = {
            let mut live = self.lock();
            if live.closed || live.deleting.contains(id) {
                return Err(OpenError::Closed);
            }
            let loaded = live.cells.entry(id.clone()).or_insert_with(|| Loaded::new(None));
            if loaded.agent().is_some_and(Agent::is_closed) {
                *loaded = Loaded::new(None);
            }
            loaded.used = Instant::now();
            Arc::clone(&loaded.cell)
        };
        let is_new = !cell.initialized();
        let opened = cell
            .get_or_try_init(|| async {
                let writer = self.sessions.open(id.clone()).await?;
                let setup = Setup::of(writer.log());
                Ok::<_, OpenError>(self.agent_loop.start(writer, Vec::new(), setup))
            })
            .await
            .cloned();
        drop(cell);
        if opened.is_err() {
            // What is not there must leave nothing behind, unless somebody else is looking for it now.
            let mut live = self.lock();
            live.cells.retain(|_, loaded| {
                loaded.cell.initialized() || Arc::strong_count(&loaded.cell) > 1
            });
        } else if is_new {
            self.loaded.notify_one();
        }
        self.unless_closed(opened?).await
    }

    /// The agent, unless it started while all were being ended: it is then ended too.
    async fn unless_closed(&self, agent: Agent) -> Result<Agent, OpenError> {
        if !self.lock().closed {
            return Ok(agent);
        }
        agent.close(AbortReason::Disposed).await;
        Err(OpenError::Closed)
    }

    /// The agent of a session, if it is loaded.
    pub fn live(&self, id: &SessionId) -> Option<Agent> {
        self.lock().cells.get(id)?.agent().cloned()
    }

    /// How many agents are loaded.
    pub fn count(&self) -> usize {
        self.lock().cells.values().filter(|loaded| loaded.is_live()).count()
    }

    /// Every session's summary, last updated first, but of those that cannot be read.
    pub async fn list(&self) -> Result<Vec<SessionInfo>, OpenError> {
        Ok(self.list_all().await?.0)
    }

    /// Every session's summary, last updated first, and the sessions that have none because they cannot be read.
    pub async fn list_all(&self) -> Result<(Vec<SessionInfo>, Vec<Unreadable>), OpenError> {
        let loaded = {
            let live = self.lock();
            let loaded = live.cells.iter().filter(|(_, loaded)| loaded.is_live());
            loaded.map(|(id, _)| id.clone()).collect()
        };
        let (mut sessions, mut unreadable) = (Vec::new(), Vec::new());
        for listed in self.sessions.list(loaded).await? {
            let id = match &listed {
                Listed::Loaded(id) => id,
                Listed::Stored(summary) => &summary.header.id,
                Listed::Unreadable(log) => &log.id,
            };
            let live = match self.live(id) {
                // One that ends at this moment is not loaded any more.
                Some(agent) => agent.info().await.ok(),
                None => None,
            };
            sessions.push(match (live, listed) {
                (Some(info), _) => info,
                (None, Listed::Stored(summary)) => self.cold(*summary),
                (None, Listed::Unreadable(log)) => {
                    unreadable.push(*log);
                    continue;
                }
                (None, Listed::Loaded(id)) => match self.sessions.summary(id.clone()).await {
                    Ok(summary) => self.cold(summary),
                    Err(StoreError::NotFound(_)) => continue,
                    Err(error) => {
                        unreadable.push(Unreadable { id, path: None, error });
                        continue;
                    }
                },
            });
        }
        newest_first(&mut sessions);
        Ok((sessions, unreadable))
    }

    /// Reads the events of some types of a session's log, whether it is loaded or not.
    pub async fn pick(
        &self,
        id: &SessionId,
        types: &'static [&'static str],
    ) -> Result<Vec<Event>, OpenError> {
        Ok(self.sessions.pick(id.clone(), types).await?)
    }

    /// What is known of a session without loading it; `None` if it is loaded, or if something was left open in it
    /// that its agent has to close.
    pub async fn at_rest_on_disk(
        &self,
        id: &SessionId,
    ) -> Result<Option<SessionOnDisk>, StoreError> {
        if self.live(id).is_some() {
            return Ok(None);
        }
        let summary = self.sessions.summary(id.clone()).await?;
        if (summary.open_turn || summary.has_open_work) && !summary.written_elsewhere {
            return Ok(None);
        }
        let (usage, totals, queue) = (summary.usage, summary.totals, summary.queue.clone());
        Ok(Some(SessionOnDisk { info: self.cold(summary), usage, totals, queue }))
    }

    /// Some events of a session that is not loaded; `None` if it is, or if loading it is the better way.
    pub async fn page_on_disk(
        &self,
        id: &SessionId,
        wanted: PageWanted,
    ) -> Result<Option<Page>, StoreError> {
        match self.live(id) {
            Some(_) => Ok(None),
            None => self.sessions.page(id.clone(), wanted).await,
        }
    }

    /// Waits until no agent runs a turn.
    pub async fn at_rest(&self) {
        loop {
            let live: Vec<Agent> =
                self.lock().cells.values().filter_map(|loaded| loaded.agent().cloned()).collect();
            let running = live.iter().find(|agent| agent.status() == SessionStatus::Running);
            let Some(agent) = running else { return };
            // An agent whose task is gone runs nothing.
            let _ = agent.watch_status().wait_for(|status| *status != SessionStatus::Running).await;
        }
    }

    /// Whether all agents were ended, so that no more can start.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Ends every agent: running turns are aborted and everything is on disk when this returns. No more start.
    pub async fn close_all(&self) {
        let cells = {
            let mut live = self.lock();
            live.closed = true;
            std::mem::take(&mut live.cells)
        };
        let closing = cells
            .values()
            .filter_map(Loaded::agent)
            .map(|agent| agent.close(AbortReason::Disposed));
        futures_util::future::join_all(closing).await;
    }

    /// The summary of a session that is not loaded.
    fn cold(&self, summary: Summary) -> SessionInfo {
        let status = if summary.open_turn && summary.written_elsewhere {
            SessionStatus::Running
        } else if summary.parked {
            SessionStatus::Parked
        } else {
            SessionStatus::Idle
        };
        session_info(&self.host, &self.default_model, summary, status, false)
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts sessions in the order of lists: last updated first.
fn newest_first(sessions: &mut [SessionInfo]) {
    sessions.sort_by(|a, b| {
        b.updated_at.cmp(&a.updated_at).then_with(|| a.session_id.cmp(&b.session_id))
    });
}

/// Those of the sessions of some folders that a list shows, last updated first: those with `query` in their title or
/// id, without regard to case, and those that agents started only with `children`.
pub fn listed(mut sessions: Vec<SessionInfo>, query: &str, children: bool) -> Vec<SessionInfo> {
    let query = query.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&query);
    sessions.retain(|session| {
        let title = session.title.as_deref().unwrap_or_default();
        (children || session.origin.is_none()) && (has(title) || has(session.session_id.as_str()))
    });
    newest_first(&mut sessions);
    sessions
}

/// A new log with its seed and its first events, all on disk. A long seed keeps a thread busy for a while.
async fn seeded(
    writer: Writer,
    seed: Vec<Arc<Event>>,
    first: Vec<EventData>,
) -> Result<Writer, CommandError> {
    writer.acquire().await?;
    let written = tokio::task::spawn_blocking(move || {
        if !seed.is_empty() {
            writer.inherit(seed)?;
        }
        first.into_iter().try_for_each(|data| writer.append(data).map(|_| ()))?;
        Ok::<_, Violation>(writer)
    });
    let writer =
        written.await.map_err(|error| CommandError::Storage(StorageError(error.to_string())))??;
    writer.flush().await?;
    writer.release().await?;
    Ok(writer)
}

/// What a client sees of a session: the same for one that is loaded and for one that is not.
pub(crate) fn session_info(
    host: &Host,
    default_model: &ModelId,
    summary: Summary,
    status: SessionStatus,
    live: bool,
) -> SessionInfo {
    let header = &summary.header;
    let inherited = header.seed_length.filter(|_| header.origin.is_none());
    let forked_from = header.parent_session.clone().zip(inherited).map(|(session_id, length)| {
        ForkPoint { session_id, seq: i64::try_from(length).unwrap_or(i64::MAX) - 1 }
    });
    SessionInfo {
        workspace: host.workspace_uri.clone(),
        title: summary.title,
        created_at: summary.header.created_at,
        updated_at: summary.updated_at,
        last_seq: summary.last_seq,
        status,
        model: model_of(host, &summary.header, summary.model.as_ref(), default_model),
        origin: summary.header.origin,
        parent_session_id: summary.header.origin.and(summary.header.parent_session),
        forked_from,
        live,
        writer: summary.written_elsewhere.then_some(OtherWriter::Other),
        session_id: summary.header.id,
    }
}
