//! The events of a session's log: one table, one line each.
//!
//! An event is a fact that has happened. The log is the only truth: everything else that the server knows of
//! a session is folded from it.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::content::{Chunk, Usage};
use crate::ids::{CallId, MessageId, ModelId};
use crate::message::Message;
use crate::session::Header;
use crate::tool::ToolError;
use crate::turn::TurnEnd;

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
    /// Closes a prefix that was inherited or restored.
    "session/end-seed" EndSeed(Empty);
    /// The session has a title. The last one counts.
    "session/title" SessionTitle(SessionTitle);
    /// A person chose a model for the session. The last one counts.
    "session/model" SessionModel(ModelId);
    /// Messages were queued, claimed by a turn, or discarded.
    "agent/inbox/spliced" InboxSpliced(InboxSpliced);
    /// A claimed message never reached the model.
    "message/outcome" MessageOutcome(MessageOutcome);
}

/// An empty payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}

/// Payload of `turn/start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStart {
    /// The turn's number, counted from 1.
    pub turn: u64,
}

/// Payload of `turn/end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEnded {
    /// The turn's number.
    pub turn: u64,
    /// Why it ended.
    pub reason: TurnEnd,
}

/// Payload of `step/start` and `step/end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The turn's number.
    pub turn: u64,
    /// The step's number, counted from 1 in each turn.
    pub step: u64,
}

/// Payload of `assistant/chunk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantChunk {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// The piece.
    pub chunk: Chunk,
}

/// Payload of `assistant/message`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantMessage {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// The message.
    pub message: Arc<Message>,
    /// What the request cost, where the provider said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// `true` when the answer was cut off by a cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<bool>,
}

/// Payload of `tool/call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// The call's id.
    pub call_id: CallId,
    /// The tool's name.
    pub name: String,
    /// The arguments exactly as the model wrote them.
    pub arguments: String,
}

/// Payload of `tool/result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// A message of exactly one `tool-result` block.
    pub message: Arc<Message>,
    /// Which error, for a failed call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// What a client shows of the result beside its text: the typed value and notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// Why a request header was logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeaderReason {
    /// The session's first request.
    Initial,
    /// The first request after the session was loaded again.
    Resume,
    /// The header differs from the last one.
    Change,
}

/// Payload of `request/header`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestHeader {
    /// The header.
    pub header: Header,
    /// Why it was logged.
    pub reason: HeaderReason,
}

/// Payload of `request/context`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestContext {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The model's context window in tokens, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// Payload of `session/title`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionTitle {
    /// The title.
    pub title: String,
}

/// One of the two lists of an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InboxTarget {
    /// Joins the running turn before its next step.
    NextStep,
    /// Starts a turn of its own.
    NextTurn,
}

/// Why messages left an inbox without being claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpliceOutcome {
    /// They were discarded.
    Canceled,
}

/// Payload of `agent/inbox/spliced`: at `start` of one list, some messages were removed and others inserted.
/// A removal without `outcome` is a claim by the turn that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxSpliced {
    /// Which list.
    pub target: InboxTarget,
    /// Where in it, counted from 0.
    pub start: u64,
    /// How many messages were removed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_count: Option<u64>,
    /// The messages that were put there.
    pub inserted: Vec<Arc<Message>>,
    /// Why the removed ones left, unless a turn claimed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<SpliceOutcome>,
}

/// What became of a claimed message that never reached the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageOutcomeKind {
    /// A hook refused it.
    Rejected,
    /// The turn could not be set up.
    Failed,
}

/// Payload of `message/outcome`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageOutcome {
    /// The message.
    pub message_id: MessageId,
    /// What became of it.
    pub kind: MessageOutcomeKind,
    /// Why.
    pub reason: String,
}

impl EventData {
    /// Whether events of this type change what the model sees.
    pub fn is_surface(&self) -> bool {
        matches!(self, Self::UserMessage(_) | Self::AssistantMessage(_) | Self::ToolResult(_))
    }

    /// Whether events of this type may be passed over by a reader that does not know them.
    pub fn is_ignorable(&self) -> bool {
        matches!(self, Self::MessageOutcome(_) | Self::SessionModel(_))
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.data.name())?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("time", &self.time)?;
        self.data.serialize_payload(&mut map)?;
        if let Some(op) = &self.surface_op {
            map.serialize_entry("surfaceOp", op)?;
        }
        if let Some(seqs) = &self.source_event_seqs {
            map.serialize_entry("sourceEventSeqs", seqs)?;
        }
        if self.ignorable {
            map.serialize_entry("ignorable", &true)?;
        }
        map.end()
    }
}

/// The envelope as text: the payload is decoded once the type is known.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    r#type: String,
    seq: u64,
    time: u64,
    data: Box<RawValue>,
    #[serde(default)]
    surface_op: Option<SurfaceOp>,
    #[serde(default)]
    source_event_seqs: Option<Vec<u64>>,
    #[serde(default)]
    ignorable: bool,
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let envelope = Envelope::deserialize(deserializer)?;
        let data = EventData::decode(&envelope.r#type, &envelope.data)
            .map_err(|error| D::Error::custom(format!("data of `{}`: {error}", envelope.r#type)))?;
        Ok(Self {
            seq: envelope.seq,
            time: envelope.time,
            data,
            surface_op: envelope.surface_op,
            source_event_seqs: envelope.source_event_seqs,
            ignorable: envelope.ignorable,
        })
    }
}

impl JsonSchema for Event {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Event".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let described = |mut schema: Schema, description: &str| {
            schema.insert("description".to_owned(), description.into());
            schema
        };
        let surface_op = described(
            generator.subschema_for::<SurfaceOp>(),
            "How it changes what the model sees; on surface events only.",
        );
        let variants: Vec<Value> = event_schemas(generator)
            .into_iter()
            .map(|event| {
                json!({
                    "type": "object",
                    "description": event.doc,
                    "properties": {
                        "type": { "type": "string", "const": event.name },
                        "seq": { "type": "integer", "minimum": 0, "description": "Place in the log, from 0 without gaps." },
                        "time": { "type": "integer", "minimum": 0, "description": "Epoch milliseconds." },
                        "data": described(event.payload, "What happened."),
                        "surfaceOp": surface_op,
                        "sourceEventSeqs": {
                            "type": "array",
                            "items": { "type": "integer", "minimum": 0 },
                            "description": "The events that this one was made from.",
                        },
                        "ignorable": {
                            "type": "boolean",
                            "description": "Whether a reader that does not know the type may pass over it.",
                        },
                    },
                    "required": ["type", "seq", "time", "data"],
                })
            })
            .collect();
        Schema::try_from(
            json!({ "description": "One entry of a session's log.", "oneOf": variants }),
        )
        .unwrap_or_default()
    }
}
