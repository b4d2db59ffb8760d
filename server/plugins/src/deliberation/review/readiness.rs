//! Whether the provider of reviews is there and can do what they ask for. Changes are said once each.

use std::sync::{Arc, Mutex, PoisonError};

use dsh_agent::subagents::provider::Capability;
use dsh_protocol::review::ReviewBy;

use super::{NEEDED, PROVIDER};
use crate::deliberation::config::NAME;
use crate::deliberation::round::Services;

/// Looks at the provider.
pub(super) struct Readiness {
    services: Arc<Services>,
    said: Mutex<Option<State>>,
}

/// What is known of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Missing,
    /// It starts children that know nothing of the session.
    Foreign,
    Lacks(Capability),
}

impl Readiness {
    pub(super) fn new(services: Arc<Services>) -> Self {
        Self { services, said: Mutex::default() }
    }

    /// Whether a review can be run now.
    pub(super) fn is_ready(&self, by: ReviewBy) -> bool {
        self.missing(by).is_none()
    }

    /// Why no review can be run now.
    pub(super) fn missing(&self, by: ReviewBy) -> Option<String> {
        let name = self.name();
        match self.state(by) {
            State::Ready => None,
            State::Missing => Some(format!("reviews wait for the subagent provider `{name}`")),
            State::Foreign => Some(format!("`{name}` does not inherit parent context")),
            State::Lacks(lacked) => Some(format!("`{name}` lacks {}", lacked.name())),
        }
    }

    /// Looks again and says what has changed, once.
    pub(super) fn look(&self) {
        let state = self.state(ReviewBy::Auto);
        let before = self.said.lock().unwrap_or_else(PoisonError::into_inner).replace(state);
        if before == Some(state) {
            return;
        }
        let name = self.name();
        match state {
            State::Ready => {
                tracing::info!("{NAME}: automatic review active with provider \"{name}\"");
            }
            State::Missing => {
                tracing::info!("{NAME}: automatic review waiting for provider \"{name}\"");
            }
            State::Foreign => tracing::warn!(
                "{NAME}: automatic review inactive because provider \"{name}\" does not inherit parent context"
            ),
            State::Lacks(lacked) => tracing::warn!(
                "{NAME}: automatic review inactive because provider \"{name}\" lacks {}",
                lacked.name()
            ),
        }
    }

    /// The provider's name.
    pub(super) fn name(&self) -> &str {
        self.services.config.auto_review.provider.as_deref().unwrap_or(PROVIDER)
    }

    fn state(&self, by: ReviewBy) -> State {
        let Some(provider) = self.services.subagents.provider(self.name()) else {
            return State::Missing;
        };
        let can = provider.capabilities();
        if !can.inherits_parent_context {
            return State::Foreign;
        }
        // A person's review names its turn, which not every provider can show.
        let window = (by == ReviewBy::User).then_some(Capability::Window);
        let lacked = NEEDED.into_iter().chain(window).find(|needed| !can.can(*needed));
        lacked.map_or(State::Ready, State::Lacks)
    }
}
