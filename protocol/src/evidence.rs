//! What became of the claims of an answer that were checked against the workspace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a claim does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceReason {
    /// There is no such file.
    MissingFile,
    /// The file has no such line, or the range ends before it begins.
    LineOutOfRange,
    /// The quoted text is nowhere in the file.
    QuoteNotFound,
    /// The quoted text is in the file, but not on the cited lines.
    QuoteMoved,
    /// The identifier beside the citation does not occur within two lines of it.
    IdentifierNotNear,
}

impl EvidenceReason {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingFile => "missing-file",
            Self::LineOutOfRange => "line-out-of-range",
            Self::QuoteNotFound => "quote-not-found",
            Self::QuoteMoved => "quote-moved",
            Self::IdentifierNotNear => "identifier-not-near",
        }
    }
}

/// A claim of an answer that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceFailure {
    /// The file: relative to the workspace folder where it was found, else as the answer names it.
    pub path: String,
    /// The first cited line, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The quoted line, or the identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// What is wrong.
    pub reason: EvidenceReason,
    /// The line on which the quote or the identifier stands now, counted from 1: the one nearest to the citation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<u64>,
}
