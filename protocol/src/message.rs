//! Messages: what the model sees, and where each came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::ContentBlock;
use crate::ids::{CallId, MessageId};

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or the runtime on their behalf.
    User,
    /// The model.
    Assistant,
    /// A tool; the message holds exactly one `tool-result` block.
    Tool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Names the message; unique inside its session.
    pub id: MessageId,
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Vec<ContentBlock>,
    /// Where it came from.
    pub source: Source,
    /// The client's own name of a prompt: sending the same one again adds nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
}

/// Where a message came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Source {
    /// A person's prompt.
    User,
    /// A plugin of the runtime.
    Plugin {
        /// The plugin's name.
        plugin: String,
        /// What sort of text it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<String>,
        /// A line about it for people, at most 120 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// A model.
    Model {
        /// The provider that answered.
        provider: String,
        /// The model that answered.
        model: String,
    },
    /// A tool.
    Tool {
        /// The call that it answers.
        call_id: CallId,
    },
}
