//! The method table: one row for each method, in alphabetical order within its noun.
//!
//! A row names the method, its params and result, and how it runs beside others:
//! * `lifecycle`: handled by the connection itself;
//! * `snapshot`: reads only, in any order;
//! * `session`: after earlier requests of the same connection that name the same session.

use schemars::{Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::ids::SessionId;
use crate::params::command::{
    CommandListParams, CommandListResult, CommandRunParams, CommandRunResult,
};
use crate::params::config::{
    ConfigDumpParams, ConfigDumpResult, ConfigReloadResult, ConfigSetParams,
};
use crate::params::credential::{
    CredentialDeleteParams, CredentialListResult, CredentialSetParams,
};
use crate::params::deliberate::{
    DeliberateCancelParams, DeliberateStartParams, DeliberateStartResult,
};
use crate::params::evidence::EvidenceSetItemParams;
use crate::params::lifecycle::{InitializeParams, InitializeResult, NoParams};
use crate::params::model::{ModelListParams, ModelListResult};
use crate::params::plugin::{PluginListParams, PluginListResult};
use crate::params::review::{
    ReviewListParams, ReviewListResult, ReviewSetItemParams, ReviewStartParams, ReviewStartResult,
};
use crate::params::server::ServerStatusResult;
use crate::params::session::{
    SessionCancelParams, SessionCancelResult, SessionEventsParams, SessionEventsResult,
    SessionExportParams, SessionExportResult, SessionForkParams, SessionForkResult,
    SessionGetResult, SessionIdParams, SessionListParams, SessionListResult, SessionMessagesParams,
    SessionMessagesResult, SessionNewParams, SessionNewResult, SessionPromptParams,
    SessionPromptResult, SessionRenameParams, SessionRequestParams, SessionRequestResult,
    SessionSearchParams, SessionSearchResult, SessionSetModelParams, SessionSubscribeParams,
    SessionSubscribeResult, SessionWaitParams, SessionWaitResult,
};
use crate::params::tool::{ToolCallParams, ToolCallResult, ToolListParams, ToolListResult};

/// Why a request could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// There is no such method.
    UnknownMethod,
    /// The params have the wrong shape; says where.
    InvalidParams(String),
    /// The params are not valid JSON, such as a text with half a surrogate pair.
    Malformed(String),
}

/// One row of the table, for generators and for `initialize`.
pub struct MethodSchema {
    /// The method's name.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// How it runs beside others.
    pub runs: &'static str,
    /// Name of the params' Rust type, the same in TypeScript and Lua.
    pub params_type: String,
    /// Name of the result's Rust type.
    pub result_type: String,
    /// JSON Schema of the params.
    pub params: Schema,
    /// JSON Schema of the result.
    pub result: Schema,
}

macro_rules! methods {
    ($($(#[doc = $doc:literal])* $name:literal $variant:ident($params:ty) -> $result:ty, runs: $runs:ident $(($field:ident))?;)*) => {
        /// A request of a client, decoded.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Request {
            $($(#[doc = $doc])* $variant($params),)*
        }

        impl Request {
            /// Every method's name, in the order of the table.
            pub const NAMES: &[&str] = &[$($name),*];

            /// Reads a request.
            pub fn decode(method: &str, params: Option<&RawValue>) -> Result<Self, DecodeError> {
                match method {
                    $($name => decode_params(params).map(Self::$variant),)*
                    _ => Err(DecodeError::UnknownMethod),
                }
            }

            /// The session after whose earlier requests this one is ordered.
            pub fn ordered_by(&self) -> Option<&SessionId> {
                match self {
                    $(Self::$variant(_params) => methods!(@order _params $runs $(($field))?),)*
                }
            }
        }

        /// The table with its schemas.
        pub fn method_schemas(generator: &mut SchemaGenerator) -> Vec<MethodSchema> {
            vec![$(MethodSchema {
                name: $name,
                doc: concat!($($doc),*).trim(),
                runs: stringify!($runs),
                params_type: <$params as schemars::JsonSchema>::schema_name().into_owned(),
                result_type: <$result as schemars::JsonSchema>::schema_name().into_owned(),
                params: generator.subschema_for::<$params>(),
                result: generator.subschema_for::<$result>(),
            }),*]
        }
    };
    (@order $params:ident session($field:ident)) => { SessionOrder::order(&$params.$field) };
    (@order $params:ident $runs:ident) => { None };
}

/// A field that names the session by which a request is ordered.
trait SessionOrder {
    fn order(&self) -> Option<&SessionId>;
}

impl SessionOrder for SessionId {
    fn order(&self) -> Option<&SessionId> {
        Some(self)
    }
}

impl SessionOrder for Option<SessionId> {
    fn order(&self) -> Option<&SessionId> {
        self.as_ref()
    }
}

methods! {
    /// Opens a connection: says which folders are open and learns what the server can do.
    "initialize" Initialize(InitializeParams) -> InitializeResult, runs: lifecycle;
    /// Ends the connection's work: running turns are aborted and requests in flight answered.
    "shutdown" Shutdown(NoParams) -> NoParams, runs: lifecycle;

    /// Lists the commands that can be typed into a session.
    "command/list" CommandList(CommandListParams) -> CommandListResult, runs: snapshot;
    /// Runs a command in a session. Later requests are not held up.
    "command/run" CommandRun(CommandRunParams) -> CommandRunResult, runs: session(session_id);

    /// Returns the configuration as it was composed, and where each row comes from.
    "config/dump" ConfigDump(ConfigDumpParams) -> ConfigDumpResult, runs: snapshot;
    /// Reads the configuration files again now.
    "config/reload" ConfigReload(NoParams) -> ConfigReloadResult, runs: snapshot;
    /// Sets a value in the home folder's patch file, keeping its comments, and applies it.
    "config/set" ConfigSet(ConfigSetParams) -> NoParams, runs: snapshot;

    /// Forgets a credential that is kept in the home folder.
    "credential/delete" CredentialDelete(CredentialDeleteParams) -> NoParams, runs: snapshot;
    /// Lists the names of the credentials that are kept in the home folder.
    "credential/list" CredentialList(NoParams) -> CredentialListResult, runs: snapshot;
    /// Keeps a credential in the home folder, readable by its owner alone.
    "credential/set" CredentialSet(CredentialSetParams) -> NoParams, runs: snapshot;

    /// Cancels a round, or one branch of it. One that has come out stays as it is.
    "deliberate/cancel" DeliberateCancel(DeliberateCancelParams) -> NoParams, runs: snapshot;
    /// Starts a person's own round over an idle session. Answers when the round has begun.
    "deliberate/start" DeliberateStart(DeliberateStartParams) -> DeliberateStartResult, runs: session(session_id);

    /// Says where a claim of an answer that does not hold stands.
    "evidence/setItem" EvidenceSetItem(EvidenceSetItemParams) -> NoParams, runs: session(session_id);

    /// Lists the models that can be chosen and whether each can be asked now.
    "model/list" ModelList(ModelListParams) -> ModelListResult, runs: snapshot;

    /// Lists the rows of a workspace folder: where each plugin stands, what it waits for, why it failed.
    "plugin/list" PluginList(PluginListParams) -> PluginListResult, runs: snapshot;

    /// Lists the reviews of a session that came out, with where their items stand.
    "review/list" ReviewList(ReviewListParams) -> ReviewListResult, runs: session(session_id);
    /// Says where an item of a review stands.
    "review/setItem" ReviewSetItem(ReviewSetItemParams) -> NoParams, runs: snapshot;
    /// Reviews the last completed turn of an idle session. Answers when the review has begun.
    "review/start" ReviewStart(ReviewStartParams) -> ReviewStartResult, runs: session(session_id);

    /// Tells what the server is and does.
    "server/status" ServerStatus(NoParams) -> ServerStatusResult, runs: snapshot;

    /// Stops the running turn and drops what is queued.
    "session/cancel" SessionCancel(SessionCancelParams) -> SessionCancelResult, runs: session(session_id);
    /// Ends the work on a session: a running turn is cancelled, its queue dropped, and the session unloaded. Its
    /// log stays, and the session comes back with the next request that names it.
    "session/close" SessionClose(SessionIdParams) -> NoParams, runs: session(session_id);
    /// Deletes a session and those that its agents started, for good. Running turns are cancelled first.
    "session/delete" SessionDelete(SessionIdParams) -> NoParams, runs: session(session_id);
    /// Returns a page of a session's log.
    "session/events" SessionEvents(SessionEventsParams) -> SessionEventsResult, runs: session(session_id);
    /// Returns a whole session as text: its log, or what people read. Appends nothing.
    "session/export" SessionExport(SessionExportParams) -> SessionExportResult, runs: session(session_id);
    /// Begins a session with the first events of another one.
    "session/fork" SessionFork(SessionForkParams) -> SessionForkResult, runs: session(session_id);
    /// Returns a session's summary, tokens and queue.
    "session/get" SessionGet(SessionIdParams) -> SessionGetResult, runs: session(session_id);
    /// Lists sessions, last updated first.
    "session/list" SessionList(SessionListParams) -> SessionListResult, runs: snapshot;
    /// Returns what the model sees, derived from the log.
    "session/messages" SessionMessages(SessionMessagesParams) -> SessionMessagesResult, runs: session(session_id);
    /// Begins a session in a workspace folder.
    "session/new" SessionNew(SessionNewParams) -> SessionNewResult, runs: session(session_id);
    /// Adds what a person typed to a session and starts a turn if none runs.
    "session/prompt" SessionPrompt(SessionPromptParams) -> SessionPromptResult, runs: session(session_id);
    /// Gives a session a title.
    "session/rename" SessionRename(SessionRenameParams) -> NoParams, runs: session(session_id);
    /// Returns what a model was sent in one step, byte for byte.
    "session/request" SessionRequest(SessionRequestParams) -> SessionRequestResult, runs: session(session_id);
    /// Finds what was said in sessions and how they are called, best hits first. Sessions that agents started are
    /// left out.
    "session/search" SessionSearch(SessionSearchParams) -> SessionSearchResult, runs: snapshot;
    /// Chooses the model that the session's next turns ask.
    "session/setModel" SessionSetModel(SessionSetModelParams) -> NoParams, runs: session(session_id);
    /// Sends a session's events from a place in its log onwards, and then each as it happens.
    "session/subscribe" SessionSubscribe(SessionSubscribeParams) -> SessionSubscribeResult, runs: session(session_id);
    /// Ends a subscription.
    "session/unsubscribe" SessionUnsubscribe(SessionIdParams) -> NoParams, runs: session(session_id);
    /// Waits until a message's turn has ended, or until the session rests. Later requests are not held up.
    "session/wait" SessionWait(SessionWaitParams) -> SessionWaitResult, runs: session(session_id);

    /// Calls a tool on behalf of a person, through the same checks as an agent's calls.
    "tool/call" ToolCall(ToolCallParams) -> ToolCallResult, runs: session(session_id);
    /// Lists the tools.
    "tool/list" ToolList(ToolListParams) -> ToolListResult, runs: snapshot;
}

/// Params must be an object; absence, `null` and an empty list, which is what Lua makes of an empty table, mean
/// an empty one.
fn decode_params<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, DecodeError> {
    let text = match params.map(RawValue::get) {
        None | Some("null" | "[]") => "{}",
        Some(text) if text.starts_with('{') => text,
        Some(_) => return Err(DecodeError::InvalidParams("params must be an object".to_owned())),
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let place = error.path().to_string();
        let error = error.into_inner();
        match error.classify() {
            // A field that is missing is named by the error itself, and stands at no place.
            serde_json::error::Category::Data if place == "." => {
                DecodeError::InvalidParams(without_position(&error))
            }
            serde_json::error::Category::Data => {
                DecodeError::InvalidParams(format!("`{place}`: {}", without_position(&error)))
            }
            serde_json::error::Category::Io
            | serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof => DecodeError::Malformed(error.to_string()),
        }
    })
}

/// What an error says, without a place in a text that the client never saw in this form.
fn without_position(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    if let Some(at) = text.rfind(" at line ") {
        text.truncate(at);
    }
    text
}
