//! A host for the tests of plugins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_agent::files::Buffers;
use dsh_agent::host::{Host, Observer, time_ordered_ids};
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::{SessionInfo, SessionStatus};
use dsh_session::clock::system;

#[derive(Debug)]
struct Quiet;

impl Observer for Quiet {
    fn status(&self, _session: &SessionId, _status: SessionStatus) {}

    fn changed(&self, _session: SessionInfo) {}
}

impl Buffers for Quiet {
    fn text(&self, _path: &Path) -> Option<Arc<str>> {
        None
    }

    fn paths(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// A host without folders, with these variables.
pub(crate) fn host(variables: &[(&str, &str)]) -> Host {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let variables: BTreeMap<String, String> = variables.iter().map(own).collect();
    Host {
        home: PathBuf::from("/nowhere/home"),
        workspace: PathBuf::from("/nowhere/work"),
        workspace_names: Arc::default(),
        open_folders: Arc::default(),
        workspace_uri: "file:///nowhere/work".to_owned(),
        forced_model: None,
        environment_model: None,
        environment: Arc::new(variables),
        clock: system(),
        new_id: time_ordered_ids(),
        observer: Arc::new(Quiet),
        buffers: Arc::new(Quiet),
    }
}
