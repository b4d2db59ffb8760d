//! The `spill` service: long results of tools, kept whole beside the log.

use dsh_kernel::service::Key;
use dsh_protocol::ids::SessionId;
use dsh_protocol::workspace::{ReadArguments, ReadValue};
use dsh_session::store::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::files::Answer;
use crate::tool::ToolFailure;

/// What a path that names a stored result begins with.
pub const PREFIX: &str = "spill:";

/// Keeps long results.
pub const SPILL: Key<dyn Spill> = Key::new("spill");

/// Results that were too long for the conversation, each for the session that it came up in.
pub trait Spill: Send + Sync {
    /// A window of a result of `session`, whose path is [`PREFIX`] and its name.
    fn read(
        &self,
        session: Option<SessionId>,
        arguments: ReadArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<ReadValue>, ToolFailure>>;
}
