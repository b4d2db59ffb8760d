//! Subagents: agents that an agent started, in sessions of their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{CallId, SessionId};

/// Why a subagent stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// It was done.
    Completed,
    /// It was cancelled.
    Aborted,
    /// It failed, used up a budget, or did not answer in the shape that it was given.
    Error,
    /// Its answer was cut at the model's limit.
    MaxTokens,
    /// A hook refused its input.
    Refusal,
}

impl StopReason {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Aborted => "aborted",
            Self::Error => "error",
            Self::MaxTokens => "max-tokens",
            Self::Refusal => "refusal",
        }
    }
}

/// Which of its parent's tools a subagent may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolFilter {
    /// Only these; absent: all. An empty list means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Not these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

impl ToolFilter {
    /// Whether a tool passes.
    pub fn lets(&self, name: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|listed| listed == name);
        self.allow.as_deref().is_none_or(named) && !named(&self.deny)
    }

    /// Lets through what both let through.
    pub fn and(&self, other: &Self) -> Self {
        let allow = match (&self.allow, &other.allow) {
            (Some(some), Some(others)) => {
                Some(some.iter().filter(|name| others.contains(name)).cloned().collect())
            }
            (Some(some), None) | (None, Some(some)) => Some(some.clone()),
            (None, None) => None,
        };
        let mut deny = self.deny.clone();
        for name in &other.deny {
            if !deny.contains(name) {
                deny.push(name.clone());
            }
        }
        Self { allow, deny }
    }

    /// Whether it lets everything through.
    pub fn is_open(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty()
    }
}

/// Params of `subagent/started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentStarted {
    /// The session whose agent started it.
    pub parent_session_id: SessionId,
    /// Its own session.
    pub child_session_id: SessionId,
    /// The provider that runs it.
    pub provider: String,
    /// A short name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The tool call with which the parent asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
}

/// Params of `subagent/finished`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentFinished {
    /// The session whose agent started it.
    pub parent_session_id: SessionId,
    /// Its own session.
    pub child_session_id: SessionId,
    /// The provider that ran it.
    pub provider: String,
    /// A short name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The tool call with which the parent asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Why it stopped.
    pub stop_reason: StopReason,
    /// Its last visible text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
