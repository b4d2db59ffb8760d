//! The notifications that the server sends: one row each.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::ids::SessionId;
use crate::params::config::Problem;
use crate::session::{SessionInfo, SessionStatus};
use crate::subagent::{SubagentFinished, SubagentStarted};

/// One row of the table, for generators.
pub struct NotificationSchema {
    /// The notification's name.
    pub name: &'static str,
    /// When it is sent.
    pub doc: &'static str,
    /// Name of the params' Rust type, the same in TypeScript and Lua.
    pub params_type: String,
    /// JSON Schema of the params.
    pub params: Schema,
}

macro_rules! notifications {
    ($($(#[doc = $doc:literal])* $name:literal $variant:ident($params:ty);)*) => {
        /// A notification of the server.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "method", content = "params")]
        pub enum Notification {
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant($params),)*
        }

        impl Notification {
            /// Every notification's name, in the order of the table.
            pub const NAMES: &[&str] = &[$($name),*];
        }

        /// The table with its schemas.
        pub fn notification_schemas(generator: &mut SchemaGenerator) -> Vec<NotificationSchema> {
            vec![$(NotificationSchema {
                name: $name,
                doc: concat!($($doc),*).trim(),
                params_type: <$params as JsonSchema>::schema_name().into_owned(),
                params: generator.subschema_for::<$params>(),
            }),*]
        }
    };
}

notifications! {
    /// The configuration of a workspace folder was read again: it applies, or the last good one stays.
    "config/changed" ConfigChanged(ConfigChanged);
    /// To subscribers: the replay is over, what follows is live.
    "session/caughtUp" SessionCaughtUp(SessionCaughtUp);
    /// A session was created, changed its summary, or was removed.
    "session/changed" SessionChanged(SessionChanged);
    /// To subscribers: one event of the log.
    "session/event" SessionEvent(SessionEvent);
    /// To subscribers that read slowly: chunk events of a range were left out.
    "session/lagged" SessionLagged(SessionLagged);
    /// A session began to run, or came to rest.
    "session/status" SessionStatus(SessionStatusChanged);
    /// A subagent is over. Its session stays.
    "subagent/finished" SubagentFinished(SubagentFinished);
    /// An agent started another one.
    "subagent/started" SubagentStarted(SubagentStarted);
}

/// Params of `config/changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChanged {
    /// The folder as a `file:` URI.
    pub workspace: String,
    /// Whether the configuration applies.
    pub ok: bool,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// Params of `session/event`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEvent {
    /// The session.
    pub session_id: SessionId,
    /// The event.
    pub event: Event,
}

/// Params of `session/caughtUp`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCaughtUp {
    /// The session.
    pub session_id: SessionId,
    /// Seq of the last event that was replayed; −1 when there is none.
    pub seq: i64,
}

/// Params of `session/lagged`. The events are in the log, and the committed message follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionLagged {
    /// The session.
    pub session_id: SessionId,
    /// Seq of the first event of the range.
    pub from: u64,
    /// Seq of the last event of the range.
    pub to: u64,
}

/// Params of `session/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatusChanged {
    /// The session.
    pub session_id: SessionId,
    /// What it is doing now.
    pub status: SessionStatus,
}

/// Params of `session/changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SessionChanged {
    /// The session as it is now.
    Changed {
        /// Its summary.
        session: SessionInfo,
    },
    /// The session is gone.
    Removed {
        /// Its id.
        removed: SessionId,
    },
}
