//! Identifiers: opaque strings on the wire, distinct types in Rust.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    )*};
}

ids! {
    /// Names a session: a generated id that sorts by creation time, or one chosen by the client.
    SessionId
    /// Names one message of a session.
    MessageId
    /// Names one tool call: unique inside its session.
    CallId
    /// Names a deliberation round.
    RoundId
    /// Names a review. Its child agent's session has the same name.
    ReviewId
    /// Names work that an agent gave to a child in the background. The child's message has the same name.
    ActivationId
}

impl SessionId {
    /// The most characters a chosen id may have.
    pub const MAX_CHARS: usize = 64;

    /// Whether a client may choose this id: 1 to 64 of `A-Z a-z 0-9 _ -`, so that it is a safe file name.
    pub fn is_choosable(&self) -> bool {
        (1..=Self::MAX_CHARS).contains(&self.0.len())
            && self
                .0
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    }
}

/// Names a language model, as in `deepseek/deepseek-v4`: split at the first `/`.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct ModelId {
    /// The provider, which is the name of an adapter.
    pub provider: String,
    /// The provider's own name of the model; may contain `/`.
    pub model: String,
}

impl ModelId {
    /// Reads `PROVIDER/MODEL`, split at the first `/`; `None` when either part is empty.
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, model) = text.trim().split_once('/')?;
        (!provider.is_empty() && !model.is_empty())
            .then(|| Self { provider: provider.to_owned(), model: model.to_owned() })
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}
