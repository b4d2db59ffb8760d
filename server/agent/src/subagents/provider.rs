//! What starts children.

use std::sync::Arc;

use dsh_kernel::hooks::Observe;
use dsh_protocol::ids::SessionId;
use dsh_session::log::Log;
use dsh_session::store::BoxFuture;

use super::error::{DisposeError, RunError, StartError};
use super::request::StartRequest;
use super::run::RunResult;

/// Told of each provider that can be named from now on.
pub const PROVIDER_ADDED: Observe<ProviderChanged> = Observe::new(
    "subagent/provider-added",
    "After a provider of subagents was registered. Changes are told in order, one after the other; those that \
     cancel each other before they could be told are left out.",
);

/// Told of each provider that can be named no more.
pub const PROVIDER_REMOVED: Observe<ProviderChanged> = Observe::new(
    "subagent/provider-removed",
    "After a provider of subagents was taken back. Children that it started run on.",
);

/// A provider that came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderChanged {
    /// Its name.
    pub name: String,
}

/// Something that a request may ask for and not every provider can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// The child can be made to answer in a shape.
    OutputSchema,
    /// Children of children can be limited.
    DepthLimit,
    /// The child's tools can be limited.
    ToolFilter,
    /// The child can be given a persona, sections of its prompt and tools of its own.
    Persona,
    /// The request may choose the window of a mid-fork.
    Window,
    /// The child can be left to work in the background.
    Background,
}

impl Capability {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutputSchema => "outputSchema",
            Self::DepthLimit => "depthLimit",
            Self::ToolFilter => "toolFilter",
            Self::Persona => "persona",
            Self::Window => "window",
            Self::Background => "background",
        }
    }
}

/// What a provider can do for a child. A request for anything else is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether children know what their parent's session holds.
    pub inherits_parent_context: bool,
    /// What else it can do.
    pub supports: &'static [Capability],
}

impl Capabilities {
    /// Whether it can do something.
    pub fn can(&self, what: Capability) -> bool {
        self.supports.contains(&what)
    }
}

/// Starts children with one kind of history.
pub trait SubagentProvider: Send + Sync {
    /// The name that requests use.
    fn name(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Starts a child; returns when its session is there for others to see. When it fails, or the future is
    /// dropped, there is no child.
    fn start(
        &self,
        request: StartRequest,
    ) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, StartError>>;
}

/// A child at work, as its provider runs it. Whoever holds one must dispose of it.
pub trait SubagentRun: Send {
    /// The child's session.
    fn child_session_id(&self) -> &SessionId;

    /// The child's log, where it is one of this process.
    fn log(&self) -> Option<Arc<Log>> {
        None
    }

    /// What the request asked for and the child does not have, a sentence each.
    fn degraded(&self) -> Vec<String> {
        Vec::new()
    }

    /// Waits for the child's end. May be dropped and called again; after the end it answers the same.
    fn result(&mut self) -> BoxFuture<'_, Result<RunResult, RunError>>;

    /// Cancels the child unless it has ended, and waits until nothing of it runs any more.
    fn dispose(self: Box<Self>) -> BoxFuture<'static, Result<(), DisposeError>>;
}

/// A provider in the registry, and which registration it is.
#[derive(Clone)]
pub(super) struct Registered {
    pub(super) number: u64,
    pub(super) provider: Arc<dyn SubagentProvider>,
}
