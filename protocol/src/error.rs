//! The errors of the wire: JSON-RPC's codes and the closed list of domain kinds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An error response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RpcError {
    /// The numeric code: one of JSON-RPC's or LSP's, or −32803 for a domain failure.
    pub code: i64,
    /// What happened, for a person.
    pub message: String,
    /// The machine-readable part of a domain failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<ErrorData>>,
}

/// The machine-readable part of a domain failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorData {
    /// Which failure.
    pub kind: ErrorKind,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// What a person can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Facts of this kind, such as `supported` for `unsupported`.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

/// The numeric codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// The frame is not JSON.
    Parse,
    /// The frame is not a request, or not one that fits the connection's life cycle.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The params have the wrong shape.
    InvalidParams,
    /// A bug of the server.
    Internal,
    /// A request came before `initialize`.
    NotInitialized,
    /// The client cancelled the request.
    Cancelled,
    /// A domain failure; `data.kind` says which.
    Domain,
}

impl ErrorCode {
    /// The code's number on the wire.
    pub const fn number(self) -> i64 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::NotInitialized => -32002,
            Self::Cancelled => -32800,
            Self::Domain => -32803,
        }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident, $retryable:literal;)*) => {
        /// The closed list of domain failures.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub enum ErrorKind {
            $($(#[$doc])* $name,)*
        }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Whether the same request may succeed later without a change by the client.
            pub const fn retryable(self) -> bool {
                match self {
                    $(Self::$name => $retryable,)*
                }
            }
        }
    };
}

kinds! {
    /// The session's log cannot be written.
    StorageFailed, true;
    /// The folder is not open in this server.
    WorkspaceNotFound, false;
    /// There is no such session.
    SessionNotFound, false;
    /// The session has no such message.
    MessageNotFound, false;
    /// There is no such deliberation round.
    RoundNotFound, false;
    /// There is no such review.
    ReviewNotFound, false;
    /// The approval is unknown or already answered.
    ApprovalNotFound, false;
    /// No adapter serves this model.
    ModelNotFound, false;
    /// There is no such command.
    CommandNotFound, false;
    /// The session is in mid-turn.
    OpenTurn, true;
    /// The place in the log cannot serve as a boundary.
    InvalidBoundary, false;
    /// The cursor lies outside the log.
    CursorInvalid, false;
    /// Another process runs a turn in this session.
    WriterConflict, true;
    /// The path leads outside the workspace.
    OutsideWorkspace, false;
    /// There is no credential of that name.
    CredentialMissing, false;
    /// The configuration has problems.
    ConfigInvalid, false;
    /// The log is damaged in its middle.
    LogDamaged, false;
    /// The log is of a version or has events that this server does not know.
    LogUnsupported, false;
    /// A limit of the server is reached.
    LimitExceeded, true;
    /// The server has too much to do.
    Overloaded, true;
    /// The server does not do this.
    Unsupported, false;
    /// The server is shutting down.
    ShuttingDown, true;
}

impl RpcError {
    /// An error without a domain kind.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code: code.number(), message: message.into(), data: None }
    }

    /// Params of the wrong shape or value.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    /// A domain failure.
    pub fn domain(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::Domain.number(),
            message: message.into(),
            data: Some(Box::new(ErrorData {
                kind,
                retryable: kind.retryable(),
                hint: None,
                facts: Map::new(),
            })),
        }
    }

    /// Adds what a person can do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(data) = &mut self.data {
            data.hint = Some(hint.into());
        }
        self
    }

    /// Adds a fact.
    pub fn with_fact(mut self, name: &str, value: Value) -> Self {
        if let Some(data) = &mut self.data {
            data.facts.insert(name.to_owned(), value);
        }
        self
    }

    /// The domain kind, where there is one.
    pub fn kind(&self) -> Option<ErrorKind> {
        self.data.as_ref().map(|data| data.kind)
    }
}
