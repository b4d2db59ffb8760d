//! What a plugin tells the model at a time of its own.

use dsh_protocol::params::session::Delivery;
use dsh_protocol::turn::TurnEnd;

use super::{Actor, injected};
use crate::agent::{CommandError, Notice, Prompt, Receipt};

/// How many turns in a row a plugin may ask for: agents that wake each other would never come to an end.
const WOKEN_MOST: u32 = 20;

impl Actor {
    /// Tells the model: in the turn that runs, else in one of its own, if the agent may be woken.
    pub(super) async fn tell(
        &mut self,
        notice: Notice,
        wakes: bool,
    ) -> Result<Receipt, CommandError> {
        self.lease().await?;
        // Behind a turn that stopped short a person has the next word.
        let went_well = self.writer.log().read(|fold| {
            let end = fold.last_ended_turn().and_then(|(_, turn)| turn.end.as_ref());
            matches!(end, None | Some(TurnEnd::Completed | TurnEnd::MaxTokens))
        });
        let is_woken = wakes && self.turn.is_none() && went_well && self.woken < WOKEN_MOST;
        self.woken += u32::from(is_woken);
        let source = notice.source();
        let delivery = if is_woken { Delivery::Followup } else { Delivery::Inject };
        self.prompt(Prompt { delivery, ..injected(notice) }, source).await
    }
}
