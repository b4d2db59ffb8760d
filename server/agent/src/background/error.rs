//! Why a child in the background was not given work, or not stopped.

use dsh_protocol::ids::SessionId;
use dsh_protocol::workspace::ToolErrorCode;
use dsh_session::store::StoreError;

use super::list::Problem;
use crate::agent::CommandError;
use crate::agents::OpenError;
use crate::subagents::error::StartError;

/// A refusal, in words that say what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// Which refusal.
    pub code: ToolErrorCode,
    /// What happened and what to do.
    pub message: String,
    /// Whether it may be over soon.
    passes: bool,
}

impl Refused {
    fn new(code: ToolErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), passes: false }
    }

    /// Whether it is worth asking again in a moment.
    pub(super) fn passes(&self) -> bool {
        self.passes
    }

    pub(super) fn broken() -> Self {
        let message = "background agents cannot be used now; do the work yourself";
        Self::new(ToolErrorCode::ContinuationUnavailable, message)
    }

    pub(super) fn elsewhere() -> Self {
        let message = "another process runs this agent; ask again when it is done";
        Self { passes: true, ..Self::new(ToolErrorCode::ContinuationUnavailable, message) }
    }

    /// Says the same of what is not there and of what belongs to somebody else.
    pub(super) fn unauthorized(child: &SessionId) -> Self {
        let message = format!(
            "you have no background agent `{child}`; list_agents names those that you have"
        );
        Self::new(ToolErrorCode::Unauthorized, message)
    }

    pub(super) fn one_shot(child: &SessionId) -> Self {
        let message =
            format!("`{child}` was started for one task and takes no more; start another");
        Self::new(ToolErrorCode::NotResumable, message)
    }

    pub(super) fn limit(most: usize) -> Self {
        let message = format!(
            "{most} agents work in the background already, which is the limit; wait for one, or \
             interrupt one"
        );
        Self::new(ToolErrorCode::SubagentLimit, message)
    }
}

impl From<OpenError> for Refused {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store(StoreError::Storage(error)) => {
                tracing::error!(%error, "a background agent's log cannot be used");
                let message = "its log cannot be read or written now; try again later";
                Self::new(ToolErrorCode::PersistenceUnavailable, message)
            }
            OpenError::Store(StoreError::Written(_)) => Self::elsewhere(),
            OpenError::Store(
                StoreError::NotFound(_)
                | StoreError::Damaged { .. }
                | StoreError::Unsupported(_)
                | StoreError::Taken(_),
            ) => Problem::Corrupt.into(),
            OpenError::Command(error) => error.into(),
            OpenError::Closed => Self { passes: true, ..Self::broken() },
        }
    }
}

impl From<CommandError> for Refused {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Closed => Self { passes: true, ..Self::broken() },
            CommandError::WriterConflict => Self::elsewhere(),
            CommandError::Storage(error) => {
                Self::from(OpenError::Store(StoreError::Storage(error)))
            }
            CommandError::Deleted => Problem::Corrupt.into(),
            CommandError::Damaged(violation) => {
                tracing::error!(%violation, "a background agent's log");
                Problem::Corrupt.into()
            }
        }
    }
}

impl From<StartError> for Refused {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Open(error) => error.into(),
            StartError::Command(error) => error.into(),
            StartError::Unsupported { .. } => Self::new(
                ToolErrorCode::ContinuationUnavailable,
                format!("{error}; call again without run_in_background"),
            ),
            StartError::NoProvider(_)
            | StartError::Depth { .. }
            | StartError::Cancelled
            | StartError::ParentUnavailable(_)
            | StartError::Invalid(_)
            | StartError::Projection(_)
            | StartError::Images(_) => Self::new(ToolErrorCode::SubagentFailed, error.to_string()),
        }
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        let (code, message) = match problem {
            Problem::Corrupt => (
                ToolErrorCode::NotResumable,
                "its log is gone or damaged, so that it cannot go on; start another agent",
            ),
            Problem::Unavailable => (
                ToolErrorCode::PersistenceUnavailable,
                "its log cannot be read now; try again later",
            ),
        };
        Self::new(code, message)
    }
}
