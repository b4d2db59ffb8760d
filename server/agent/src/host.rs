//! What the embedding program provides to the plugins of one workspace folder.

use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use dsh_kernel::service::Key;
use dsh_llm::credentials::Environment;
use dsh_protocol::event::Event;
use dsh_protocol::ids::{ModelId, SessionId};
use dsh_protocol::notifications::Notification;
use dsh_protocol::session::{SessionInfo, SessionStatus};
use dsh_session::clock::Clock;
use dsh_session::store::Sink;

use crate::files::Buffers;

/// The service's name.
pub const HOST: Key<Host> = Key::new("host");

/// Makes ids that are unique and sort by the time they were made.
pub type NewId = Arc<dyn Fn() -> String + Send + Sync>;

/// What the embedding program provides.
pub struct Host {
    /// The folder for everything that is kept.
    pub home: PathBuf,
    /// The workspace folder, canonical.
    pub workspace: PathBuf,
    /// Other absolute paths that clients name the folder by, through links. They come and go.
    pub workspace_names: Arc<RwLock<Vec<PathBuf>>>,
    /// Every folder that is open, as clients name them.
    pub open_folders: Arc<RwLock<Vec<PathBuf>>>,
    /// The workspace folder as a `file:` URI.
    pub workspace_uri: String,
    /// The model that a person forced for this process, before every other choice.
    pub forced_model: Option<ModelId>,
    /// The model that the environment names.
    pub environment_model: Option<ModelId>,
    /// The variables of the process, with those of the home's file below them.
    pub environment: Arc<dyn Environment>,
    /// Tells the time.
    pub clock: Clock,
    /// Makes ids.
    pub new_id: NewId,
    /// Is told what happens to sessions.
    pub observer: Arc<dyn Observer>,
    /// What editors have open.
    pub buffers: Arc<dyn Buffers>,
}

/// Is told what happens to sessions. Called from the session's own task: must not block.
pub trait Observer: Send + Sync {
    /// A session began to run, or came to rest.
    fn status(&self, session: &SessionId, status: SessionStatus);

    /// A session was created or its summary changed.
    fn changed(&self, session: SessionInfo);

    /// An event was appended to a session's log by this process.
    fn appended(&self, _session: &SessionId, _event: &Event) {}

    /// A session was closed whose log could not be written to its end. It is tried again for as long as the sink is
    /// kept.
    fn left_unwritten(&self, _session: &SessionId, _sink: Arc<dyn Sink>) {}

    /// Something else happened that clients are told of. A later notice of the same kind about the same thing
    /// may take its place.
    fn notice(&self, notice: &Notification) {
        let _ = notice;
    }
}

/// Ids from UUID version 7.
pub fn time_ordered_ids() -> NewId {
    Arc::new(|| uuid::Uuid::now_v7().to_string())
}
