//! What this model does as a child agent with a role: it hands in a packet through `structured_output`.
//!
//! The role is read from that tool's own schema, which fixes it, and not from the words of the prompt. A review and
//! an audit take the claims out of what they see (`seen`, `snapshot`), have them checked without any model and look
//! at what is really there (`review`). An alternative searches again with other words (`alternative`).

mod alternative;
mod finding;
mod packet;
mod review;
mod seen;
mod snapshot;
mod spelling;
mod task;

use std::collections::BTreeSet;
use std::sync::Arc;

use dsh_agent::evidence::Evidence;
use dsh_agent::files::Search;
use dsh_agent::subagents::structured::STRUCTURED_OUTPUT;
use dsh_protocol::deliberation::BranchRole;
use dsh_protocol::message::Message;
use dsh_protocol::tool::ToolDefinition;
use tokio_util::sync::CancellationToken;

use super::reply::{Call, Step};
use super::results::{self, Window};
use super::turn::Turn;
use packet::Items;

/// The role whose packet the offered tools ask for; nothing when they ask for none.
pub(super) fn role(tools: &[ToolDefinition]) -> Option<BranchRole> {
    let tool = tools.iter().find(|tool| tool.name == STRUCTURED_OUTPUT)?;
    let name = tool.input_schema.pointer("/properties/role/const")?.as_str()?;
    BranchRole::ALL.into_iter().find(|role| role.as_str() == name)
}

/// What a child's step is decided from.
pub(super) struct Child<'c> {
    pub role: BranchRole,
    /// The conversation, with what was inherited.
    pub messages: &'c [Arc<Message>],
    pub turn: &'c Turn,
    /// The names of the tools that may be called.
    pub tools: BTreeSet<&'c str>,
    pub search: &'c Arc<dyn Search>,
    pub evidence: Option<&'c Arc<dyn Evidence>>,
    pub cancel: &'c CancellationToken,
}

impl Child<'_> {
    /// The next step.
    pub(super) async fn next(&self) -> Step {
        if let Some(refused) = self.turn.results(STRUCTURED_OUTPUT).last() {
            // The same packet would be refused again.
            let why = refused.result.as_ref().err().map_or("", String::as_str);
            return Step::Say(format!("The packet was not taken: {why}"));
        }
        match self.role {
            BranchRole::MaskedReview | BranchRole::TrajectoryAudit => self.review().await,
            BranchRole::IndependentAlternative => self.alternative().await,
        }
    }

    fn hand_in(&self, items: Items) -> Step {
        let arguments = items.packet(self.role);
        Step::Calls(vec![Call { tool: STRUCTURED_OUTPUT, arguments }])
    }

    /// What has been read in this turn.
    fn reads(&self) -> Vec<Window> {
        self.turn
            .results("read")
            .filter_map(|done| results::read(done.result.as_ref().ok()?))
            .collect()
    }
}
