//! Deliberation: rounds of isolated child agents, what each branch is asked, and what comes back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::Usage;
use crate::ids::SessionId;

/// What a branch is for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum BranchRole {
    /// A fresh agent that looks for another defensible answer and is not told the present one.
    IndependentAlternative,
    /// A fork of the session that tries to falsify what was done and concluded.
    TrajectoryAudit,
    /// A fork that reads the last steps again without the reasoning that led to them.
    MaskedReview,
}

/// What a branch knows of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BranchHistory {
    /// Nothing.
    Fresh,
    /// Its completed turns.
    Fork,
    /// Its completed turns before a window of steps, and that window as text.
    MidFork,
}

impl BranchRole {
    /// Every role.
    pub const ALL: [Self; 3] =
        [Self::IndependentAlternative, Self::TrajectoryAudit, Self::MaskedReview];

    /// The role's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IndependentAlternative => "independent-alternative",
            Self::TrajectoryAudit => "trajectory-audit",
            Self::MaskedReview => "masked-review",
        }
    }

    /// What a branch of this role knows of the session.
    pub const fn history(self) -> BranchHistory {
        match self {
            Self::IndependentAlternative => BranchHistory::Fresh,
            Self::TrajectoryAudit => BranchHistory::Fork,
            Self::MaskedReview => BranchHistory::MidFork,
        }
    }
}

/// What all branches of a round are told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliberationContext {
    /// What was observed, without conclusions.
    pub observations: Vec<String>,
    /// What a person or the system demands.
    pub constraints: Vec<String>,
    /// What nobody knows yet.
    pub unknowns: Vec<String>,
}

/// A branch that somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchRequest {
    /// Names the branch in its round.
    pub label: String,
    /// The name of a configured route: which model answers.
    pub route: String,
    /// The name of a configured capability profile: which tools it has.
    pub capability: String,
    /// What exactly to look at.
    pub focus: String,
    /// What it is for.
    pub role: BranchRole,
    /// How many complete steps a masked review reads; other roles have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_steps: Option<u64>,
}

/// A branch as its round began it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchPlan {
    /// Names the branch in its round.
    pub label: String,
    /// What it is for.
    pub role: BranchRole,
    /// What it knows of the session.
    pub history: BranchHistory,
    /// The name of its route.
    pub route: String,
    /// The name of its capability profile.
    pub capability: String,
    /// How many complete steps it was asked to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_steps: Option<u64>,
}

/// Who asked for a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoundBy {
    /// The session's model, with a tool call.
    Model,
    /// A person.
    User,
}

/// Where a branch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BranchState {
    /// Its child agent runs.
    Running,
    /// Its outcome is fixed.
    Settled,
}

/// Whether a child found something that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketStatus {
    /// It did.
    Update,
    /// It did not.
    NoUpdate,
}

/// What an item of a packet contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// Something that was seen.
    Observation,
    /// Something that follows.
    Conclusion,
    /// Something that was taken for granted.
    Assumption,
    /// Something that nobody knows.
    Unknown,
    /// Something that may be wrong.
    PossibleError,
    /// Something that could be done.
    Suggestion,
}

/// How sure a child says that it is. Nobody has checked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Directly supported by an observation.
    Certain,
    /// More likely than not.
    Likely,
    /// Open.
    Uncertain,
}

/// A place in the workspace that an item stands on. The server keeps only those that hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRef {
    /// The file, relative to the workspace folder.
    pub path: String,
    /// The line, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}

/// One statement of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketItem {
    /// What it contributes.
    pub kind: ItemKind,
    /// How sure the child says that it is.
    pub certainty: Certainty,
    /// The statement.
    pub content: String,
    /// Where it stands in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refs: Option<Vec<FileRef>>,
}

/// What a child agent hands back: a claim, not a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Packet {
    /// The role of the branch that it comes from.
    pub role: BranchRole,
    /// Whether there is something to say.
    pub status: PacketStatus,
    /// What there is to say; absent when there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<PacketItem>>,
}

/// What became of a branch's child agent once it was no longer needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cleanup {
    /// It was taken down.
    Completed,
    /// Taking it down failed.
    Failed,
    /// Taking it down took too long and goes on by itself.
    Abandoned,
    /// There was none.
    NotStarted,
}

/// The steps that a masked review was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum HistoryWindow {
    /// The last complete steps.
    RecentSteps {
        /// How many were asked for.
        requested_steps: u64,
        /// How many there were, up to what the configuration allows.
        projected_steps: u64,
    },
}

/// How a branch came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchOutcome {
    /// Names the branch in its round.
    pub label: String,
    /// What it was for.
    pub role: BranchRole,
    /// What it knew of the session.
    pub history: BranchHistory,
    /// The name of its route.
    pub route: String,
    /// The name of its capability profile.
    pub capability: String,
    /// Its child agent's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_session_id: Option<SessionId>,
    /// Why it ended: `completed`, what the child ended with, or what kept it from a packet.
    pub stop_reason: String,
    /// What became of the child agent.
    pub cleanup: Cleanup,
    /// What it was meant to have and had not, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
    /// The steps that it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_window: Option<HistoryWindow>,
    /// What it found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<Packet>,
    /// How many of the packet's references did not hold and were dropped; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_refs: Option<u64>,
    /// What kept it from a packet, for a person and the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostic: Option<String>,
    /// Tokens of its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}
