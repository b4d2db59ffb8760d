//! Finds what was said in sessions: the `sessionSearch` service.

use dsh_kernel::service::Key;
use dsh_protocol::params::session::SearchHit;
use dsh_session::store::BoxFuture;

/// The service's name.
pub const SESSION_SEARCH: Key<dyn SessionSearch> = Key::new("sessionSearch");

/// Finds what was said in the sessions of one workspace folder. Appends nothing.
pub trait SessionSearch: Send + Sync {
    /// The best hits, best first. A query without words finds nothing.
    fn search(
        &self,
        query: String,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Ranked>, SearchError>>;
}

/// A hit and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The hit.
    pub hit: SearchHit,
    /// Less is better; to be compared with other hits of the same query.
    pub rank: f64,
}

/// Nothing can be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sessions cannot be searched: {0}")]
pub struct SearchError(pub String);
