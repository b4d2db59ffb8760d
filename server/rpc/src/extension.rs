//! What a door adds to the method table: a protocol of its own around ours.

use std::pin::Pin;

use dsh_protocol::error::RpcError;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::outbox::Outbox;

/// A boxed future.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The outcome of a request.
pub type Outcome = Result<Box<RawValue>, RpcError>;

/// What a door adds to the method table. The connection keeps the life cycle, the order and the answers.
pub trait Extension: Send + Sync {
    /// Takes part in `initialize`; returns capabilities that stand beside ours. Must answer at once.
    fn initialize(
        &self,
        params: Option<Box<RawValue>>,
        outbox: &std::sync::Arc<Outbox>,
    ) -> BoxFuture<Result<Map<String, Value>, RpcError>>;

    /// Takes a notification. The next frame is read when the future is done: it must be short, and what it
    /// does is in order.
    fn notification(&self, method: &str, params: Option<Box<RawValue>>) -> BoxFuture<()>;

    /// Takes the answer to a request that was sent under this id. Must return at once.
    fn response(&self, id: &str, is_error: bool);

    /// Takes a request that is not in the table; `None`: there is no such method here either.
    fn request(&self, method: &str, params: Option<Box<RawValue>>) -> Option<BoxFuture<Outcome>>;
}
