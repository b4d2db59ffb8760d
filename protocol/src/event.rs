//! The events of a session's log: one table, one line each.
//!
//! An event is a fact that has happened. The log is the only truth: everything else that the server knows of
//! a session is folded from it.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ids::ModelId;
use crate::message::Message;

mod envelope;
mod payload;

// One module in two files: an event's payload has no meaning apart from its row.
pub use payload::*;

/// One entry of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The event's place in the log, counted from 0 without gaps.
    pub seq: u64,
    /// When it was appended, in epoch milliseconds. Order is by `seq`; clocks may jump.
    pub time: u64,
    /// What happened.
    pub data: EventData,
    /// How it changes what the model sees; present on surface events only.
    pub surface_op: Option<SurfaceOp>,
    /// The events that this one was made from.
    pub source_event_seqs: Option<Vec<u64>>,
    /// Whether a reader that does not know the type may pass over it.
    pub ignorable: bool,
}

/// How a surface event changes what the model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SurfaceOp {
    /// Adds a message at the end.
    Append(AppendTag),
    /// Takes the place of a range of visible messages.
    Replace {
        /// Always `replace`.
        op: ReplaceTag,
        /// Seq of the first message that is replaced.
        start: u64,
        /// Seq of the last message that is replaced.
        end: u64,
    },
}

/// The word `append`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AppendTag {
    /// Adds a message at the end.
    Append,
}

/// The word `replace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplaceTag {
    /// Takes the place of a range.
    Replace,
}

/// An event of a type that this server does not know, kept as it was read.
#[derive(Clone, Debug)]
pub struct UnknownEvent {
    /// The type's name.
    pub name: String,
    /// The payload's exact text.
    pub data: Box<RawValue>,
}

impl PartialEq for UnknownEvent {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.data.get() == other.data.get()
    }
}

macro_rules! events {
    ($($(#[doc = $doc:literal])* $name:literal $variant:ident($payload:ty);)*) => {
        /// What happened.
        #[derive(Clone, Debug, PartialEq)]
        pub enum EventData {
            $($(#[doc = $doc])* $variant($payload),)*
            /// A type that this server does not know.
            Unknown(UnknownEvent),
        }

        impl EventData {
            /// Every type name, in the order of the table.
            pub const NAMES: &[&str] = &[$($name),*];

            /// The type's name on the wire.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Unknown(event) => &event.name,
                }
            }

            fn decode(name: &str, data: &RawValue) -> Result<Self, serde_json::Error> {
                match name {
                    $($name => serde_json::from_str(data.get()).map(Self::$variant),)*
                    _ => Ok(Self::Unknown(UnknownEvent { name: name.to_owned(), data: data.to_owned() })),
                }
            }

            fn serialize_payload<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self {
                    $(Self::$variant(payload) => map.serialize_entry("data", payload),)*
                    Self::Unknown(event) => map.serialize_entry("data", &event.data),
                }
            }
        }

        /// Each type's name, description and payload schema.
        pub fn event_schemas(generator: &mut SchemaGenerator) -> Vec<EventSchema> {
            vec![$(EventSchema {
                name: $name,
                doc: concat!($($doc),*).trim(),
                payload: generator.subschema_for::<$payload>(),
            }),*]
        }
    };
}

/// One row of the event table.
pub struct EventSchema {
    /// The type's name.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// JSON Schema of `data`.
    pub payload: Schema,
}

events! {
    /// A turn begins. Turns are numbered from 1 without gaps.
    "turn/start" TurnStart(TurnStart);
    /// A turn is over. Every started turn gets exactly one.
    "turn/end" TurnEnd(TurnEnded);
    /// A step begins: one request to the model and the tools that it asks for.
    "step/start" StepStart(Step);
    /// A step is over.
    "step/end" StepEnd(Step);
    /// A message joins the conversation as the model's input.
    "user/message" UserMessage(Arc<Message>);
    /// One piece of the model's answer arrived.
    "assistant/chunk" AssistantChunk(AssistantChunk);
    /// The model's answer is complete, or was interrupted.
    "assistant/message" AssistantMessage(AssistantMessage);
    /// A tool was started.
    "tool/call" ToolCall(ToolCall);
    /// A tool answered.
    "tool/result" ToolResult(ToolResult);
    /// What the model is sent beside the messages. The last one counts.
    "request/header" RequestHeader(RequestHeader);
    /// Which model is asked and how much it can take. The last one counts.
    "request/context" RequestContext(RequestContext);
    /// A request was sent to the model's provider.
    "llm/request" ModelRequest(ModelRequest);
    /// A request failed and will be sent again after a pause.
    "llm/retry" ModelRetry(ModelRetry);
    /// The pause before a retry is over.
    "llm/retry-started" ModelRetryStarted(ModelRetryStarted);
    /// Closes a prefix that was inherited or restored.
    "session/end-seed" EndSeed(Empty);
    /// The session has a title. The last one counts.
    "session/title" SessionTitle(SessionTitle);
    /// A person, or the agent that started the session, chose a model for it. The last one counts.
    "session/model" SessionModel(ModelId);
    /// Messages were queued, claimed by a turn, or discarded.
    "agent/inbox/spliced" InboxSpliced(InboxSpliced);
    /// A claimed message never reached the model.
    "message/outcome" MessageOutcome(MessageOutcome);
    /// A deliberation round began.
    "deliberation/started" DeliberationStarted(DeliberationStarted);
    /// A branch of a round began or came out.
    "deliberation/branch" DeliberationBranch(DeliberationBranch);
    /// Every branch of a round came out.
    "deliberation/settled" DeliberationSettled(DeliberationSettled);
    /// A review of a turn began.
    "review/claimed" ReviewClaimed(ReviewClaimed);
    /// A review's child agent began.
    "review/child" ReviewChild(ReviewChild);
    /// An attempt to review a turn does not count. The turn may be claimed again.
    "review/released" ReviewReleased(ReviewReleased);
    /// A review came out. A second one says that the step that was to take in its notice failed.
    "review/settled" ReviewSettled(ReviewSettled);
    /// A person said something of a review's item. The last one counts.
    "review/item" ReviewItemChanged(ReviewItemChanged);
    /// The session is a subagent's: how it was started. The last one counts.
    "subagent/descriptor" SubagentDescriptor(SubagentDescriptor);
    /// The agent gave work to a child in the background.
    "subagent/activated" SubagentActivated(SubagentActivated);
    /// Work that a child had in the background came out, and the agent has been told.
    "subagent/settled" SubagentSettled(SubagentSettled);
    /// The claims of an answer were checked against the workspace.
    "evidence/checked" EvidenceChecked(EvidenceChecked);
    /// A person said something of a claim that does not hold. The last one counts.
    "evidence/item" EvidenceItemChanged(EvidenceItemChanged);
}

impl EventData {
    /// Whether events of this type change what the model sees.
    pub fn is_surface(&self) -> bool {
        matches!(self, Self::UserMessage(_) | Self::AssistantMessage(_) | Self::ToolResult(_))
    }

    /// Whether events of this type may be passed over by a reader that does not know them.
    pub fn is_ignorable(&self) -> bool {
        matches!(
            self,
            Self::MessageOutcome(_)
                | Self::DeliberationStarted(_)
                | Self::DeliberationBranch(_)
                | Self::DeliberationSettled(_)
                | Self::ReviewClaimed(_)
                | Self::ReviewChild(_)
                | Self::ReviewReleased(_)
                | Self::ReviewSettled(_)
                | Self::ReviewItemChanged(_)
                | Self::EvidenceChecked(_)
                | Self::EvidenceItemChanged(_)
                | Self::ModelRequest(_)
                | Self::ModelRetry(_)
                | Self::ModelRetryStarted(_)
                | Self::SessionModel(_)
                | Self::SubagentDescriptor(_)
                | Self::SubagentActivated(_)
                | Self::SubagentSettled(_)
        )
    }
}
