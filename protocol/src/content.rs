//! Content blocks, the chunks of a streamed answer, and token usage.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::CallId;

/// A piece of a message. On input only `text`, `image` and `resource` are accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ContentBlock {
    /// Visible text.
    Text {
        /// The text, stored as sent.
        text: String,
    },
    /// What a model thought before it answered; never part of the visible answer.
    Reasoning {
        /// The text, stored as received.
        text: String,
    },
    /// A picture: inline `data` or a stored `attachment`.
    Image {
        /// The bytes in base64.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<String>,
        /// The id of a stored attachment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attachment: Option<String>,
        /// The media type, such as `image/png`.
        media_type: String,
    },
    /// A file or a selection of it.
    Resource {
        /// The file as a `file:` URI.
        uri: String,
        /// The selected lines; absent: the whole file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<LineRange>,
        /// Unsaved content, where it differs from the disk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A model asks for a tool.
    ToolCall {
        /// Names the call; its result carries the same id.
        id: CallId,
        /// The tool's name.
        name: String,
        /// The arguments exactly as the model wrote them; valid JSON unless the model erred.
        arguments: String,
    },
    /// What a tool answered.
    ToolResult {
        /// The call that this answers.
        tool_call_id: CallId,
        /// What the model reads.
        content: Vec<ContentBlock>,
        /// Whether the call failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// The visible text of some blocks, joined without separators.
pub fn visible_text(blocks: &[ContentBlock]) -> String {
    let mut joined = String::new();
    for block in blocks {
        if let ContentBlock::Text { text } = block {
            joined.push_str(text);
        }
    }
    joined
}

/// A range of whole lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LineRange {
    /// First line, counted from 1.
    pub start_line: u64,
    /// Last line, inclusive.
    pub end_line: u64,
}

/// What a streamed block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockKind {
    /// Visible text.
    Text,
    /// Reasoning.
    Reasoning,
    /// A tool call, whose arguments are streamed as text.
    ToolCall,
}

/// One piece of a model's streamed answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Chunk {
    /// A block begins.
    BlockStart {
        /// The block's number, counted from 0 in the order of appearance.
        index: u32,
        /// What it holds.
        block: BlockKind,
        /// For a tool call: its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<CallId>,
        /// For a tool call: the tool's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// More visible text.
    TextDelta {
        /// The block.
        index: u32,
        /// The text to append.
        text: String,
    },
    /// More reasoning.
    ReasoningDelta {
        /// The block.
        index: u32,
        /// The text to append.
        text: String,
    },
    /// More of a tool call's arguments.
    ToolCallDelta {
        /// The block.
        index: u32,
        /// The text to append to the arguments.
        arguments_delta: String,
    },
    /// A block is complete.
    BlockEnd {
        /// The block.
        index: u32,
    },
    /// What the request has cost; the last one counts.
    Usage {
        /// The figures.
        usage: Usage,
    },
    /// The answer is over; always the last chunk.
    Finish {
        /// Why it ended.
        reason: FinishReason,
        /// What went wrong, for `error` and `aborted`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ModelFailure>,
    },
}

/// Why a model's answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// The model asks for tools.
    ToolCalls,
    /// The answer was cut at the model's limit.
    MaxTokens,
    /// The request was cancelled.
    Aborted,
    /// The request failed.
    Error,
}

/// How a request to a model failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelFailure {
    /// What happened, for a person. Holds no credential.
    pub message: String,
    /// A stable code such as `AUTH`, `RATE_LIMIT`, `STREAM_CLOSED` or `UNKNOWN`.
    pub code: String,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider asked to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_retry_after_ms: Option<u64>,
    /// The provider's name of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// The tokens of one request. Counts are disjoint, except that `reasoningTokens` is part of `outputTokens`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens that no cache served.
    pub input_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
    /// Input tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Input tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Output tokens that were reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// The model's context window in tokens, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}
