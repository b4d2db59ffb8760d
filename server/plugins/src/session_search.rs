//! Row `session-search`: finds what was said in the folder's sessions and how they are called.
//!
//! The index is a file beside the logs, made from them and brought up to date when something is looked for. It is
//! never the truth: it can be deleted at any time, and one that cannot be used is made again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use dsh_agent::session_search::{Ranked, SESSION_SEARCH, SearchError, SessionSearch};
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_session::store::{BoxFuture, SESSION_STORE};
use futures_util::future::BoxFuture as Started;
use serde_json::Value;

mod index;
mod logs;
mod query;
mod schema;
mod snippet;

use query::Query;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["sessionStore"],
    provides: &["sessionSearch"],
    ..Plugin::new("session-search", start)
};

fn start(context: Context, _config: Value) -> Started<'static, Result<(), StartError>> {
    Box::pin(async move {
        let folder = context.get(&SESSION_STORE)?.folder();
        let search = LogSearch { folder, one_at_a_time: Arc::default() };
        context.provide(&SESSION_SEARCH, Arc::new(search) as Arc<dyn SessionSearch>)
    })
}

struct LogSearch {
    /// Where the logs are; `None` where the store keeps no files.
    folder: Option<PathBuf>,
    /// Searches of one folder take turns: the first one brings the index up to date for the others.
    one_at_a_time: Arc<Mutex<()>>,
}

impl SessionSearch for LogSearch {
    fn search(
        &self,
        query: String,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Ranked>, SearchError>> {
        let folder = self.folder.clone();
        let one_at_a_time = Arc::clone(&self.one_at_a_time);
        Box::pin(async move {
            let Some(folder) = folder else {
                return Err(SearchError("they are not kept as files".to_owned()));
            };
            let Some(query) = Query::parse(&query) else { return Ok(Vec::new()) };
            let searching = tokio::task::spawn_blocking(move || {
                let _turn = one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
                index::search(&folder, &query, limit)
            });
            let found = searching.await.map_err(|error| SearchError(error.to_string()))?;
            found.map_err(|error| SearchError(error.to_string()))
        })
    }
}
