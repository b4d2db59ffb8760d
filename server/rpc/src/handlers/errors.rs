//! How failures of the runtime look on the wire.

use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_runtime::agent::agent::CommandError;
use dsh_runtime::agent::agents::OpenError;
use dsh_runtime::config::problem::Problem;
use dsh_runtime::reload::on_the_wire;
use dsh_runtime::runtime::{SessionError, Unwritten, WorkspaceError};
use dsh_runtime::session::store::StoreError;
use dsh_runtime::workspace::{FolderNameError, MountError};
use serde_json::json;

pub(crate) fn workspace(error: &WorkspaceError) -> RpcError {
    let message = error.to_string();
    match error {
        WorkspaceError::Name(FolderNameError::NotAPath(_)) | WorkspaceError::Ambiguous(_) => {
            RpcError::invalid_params(message)
        }
        WorkspaceError::Name(FolderNameError::NotFound(_))
        | WorkspaceError::NotOpen(_)
        | WorkspaceError::NoneOpen => RpcError::domain(ErrorKind::WorkspaceNotFound, message)
            .with_hint("open the folder when the server starts, or name one that is open"),
        WorkspaceError::Mount(error) => mount(error),
        WorkspaceError::Configuration(found) => problems(found),
    }
}

pub(crate) fn mount(error: &MountError) -> RpcError {
    RpcError::domain(ErrorKind::ConfigInvalid, error.to_string())
        .with_hint("`plugin/list` tells where each row stands")
}

pub(crate) fn problems(problems: &[Problem]) -> RpcError {
    let wire: Vec<_> = problems.iter().map(on_the_wire).collect();
    let first = problems.iter().find(|problem| problem.is_error()).or(problems.first());
    let first = first.map(ToString::to_string).unwrap_or_default();
    let message = format!("the configuration has problems: {first}");
    RpcError::domain(ErrorKind::ConfigInvalid, message).with_fact("problems", json!(wire))
}

pub(crate) fn session(error: &SessionError) -> RpcError {
    match error {
        SessionError::NotFound(id) => {
            RpcError::domain(ErrorKind::SessionNotFound, error.to_string())
                .with_fact("sessionId", json!(id))
        }
        SessionError::Open(error) => open(error),
        SessionError::Mount(error) => mount(error),
    }
}

pub(crate) fn open(error: &OpenError) -> RpcError {
    match error {
        OpenError::Command(error) => command(error),
        OpenError::Closed => RpcError::domain(ErrorKind::Overloaded, error.to_string()),
        OpenError::Store(StoreError::Taken(_)) => RpcError::invalid_params(error.to_string()),
        OpenError::Store(StoreError::NotFound(_)) => {
            RpcError::domain(ErrorKind::SessionNotFound, error.to_string())
        }
        OpenError::Store(StoreError::Written(_)) => {
            RpcError::domain(ErrorKind::WriterConflict, error.to_string())
        }
        OpenError::Store(StoreError::Damaged { line, .. }) => {
            RpcError::domain(ErrorKind::LogDamaged, error.to_string())
                .with_fact("line", json!(line))
        }
        OpenError::Store(StoreError::Unsupported(_)) => {
            RpcError::domain(ErrorKind::LogUnsupported, error.to_string())
        }
        OpenError::Store(StoreError::Storage(_)) => {
            RpcError::domain(ErrorKind::StorageFailed, error.to_string())
        }
    }
}

pub(crate) fn unwritten(error: &Unwritten) -> RpcError {
    let sessions: Vec<_> = error.0.iter().map(|(session, _)| session).collect();
    RpcError::domain(ErrorKind::StorageFailed, error.to_string())
        .with_fact("sessions", json!(sessions))
        .with_hint("make room before the server ends; it tries once more then")
}

/// What a session did not do, on the wire.
pub fn command(error: &CommandError) -> RpcError {
    let kind = match error {
        CommandError::Closed => ErrorKind::ShuttingDown,
        CommandError::Deleted => ErrorKind::SessionNotFound,
        CommandError::WriterConflict => ErrorKind::WriterConflict,
        CommandError::Storage(_) => ErrorKind::StorageFailed,
        CommandError::Damaged(_) => ErrorKind::LogDamaged,
    };
    RpcError::domain(kind, error.to_string())
}
