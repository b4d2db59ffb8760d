//! What handlers see: the process, and the connection that asks.

use std::sync::Arc;
use std::time::Instant;

use dsh_runtime::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::outbox::Outbox;

/// The process, as its doors share it.
pub struct Server {
    /// The workspace folders and their sessions.
    pub runtime: Runtime,
    /// The product's version.
    pub version: &'static str,
    /// When the process began to serve.
    pub started: Instant,
}

/// The connection that asks.
#[derive(Clone)]
pub(crate) struct Cx {
    pub(crate) server: Arc<Server>,
    pub(crate) outbox: Arc<Outbox>,
    /// Fires when the client has said all that it will.
    pub(crate) input_ended: CancellationToken,
}
