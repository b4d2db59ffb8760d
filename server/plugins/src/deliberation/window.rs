//! Which steps a masked review can be shown.

use dsh_protocol::deliberation::HistoryWindow;
use dsh_protocol::event::EventData;
use dsh_session::log::Log;

/// How many events from the end are looked at first.
const FIRST_LOOK: i64 = 1_024;

/// The window of a review that asks for so many steps, of which there may be at most `most`.
pub(super) fn recent_steps(log: &Log, requested: u64, most: u64) -> HistoryWindow {
    let projected_steps = complete_steps(log, requested.min(most));
    HistoryWindow::RecentSteps { requested_steps: requested, projected_steps }
}

/// How many steps are complete, counted up to `most`. The whole log counts, whatever became of its turns. A log's
/// rules say that no step ends which did not begin.
fn complete_steps(log: &Log, most: u64) -> u64 {
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    let mut look = FIRST_LOOK;
    // Long logs are looked at from their end, a longer stretch each time.
    loop {
        let after = (log.last_seq() - look).max(-1);
        let page = log.page(after, limit, |event| matches!(event.data, EventData::StepEnd(_)));
        if page.events.len() == limit || after == -1 {
            return page.events.len() as u64;
        }
        look = look.saturating_mul(4);
    }
}

#[cfg(test)]
mod tests {
    use dsh_protocol::event::{Event, Step, TurnEnded, TurnStart};
    use dsh_protocol::session::FileHeader;
    use dsh_protocol::turn::TurnEnd;
    use serde_json::json;

    use super::*;

    /// A log of turns of one step each; the last step is open.
    fn log(turns: u64) -> Log {
        let header: FileHeader = serde_json::from_value(json!({
            "type": "session", "version": FileHeader::VERSION, "id": "s", "createdAt": 1, "cwd": "/w",
        }))
        .unwrap();
        let mut data = Vec::new();
        for turn in 1..=turns {
            let step = Step { turn, step: 1 };
            data.push(EventData::TurnStart(TurnStart { turn }));
            data.push(EventData::StepStart(step));
            if turn < turns {
                data.push(EventData::StepEnd(step));
                data.push(EventData::TurnEnd(TurnEnded { turn, reason: TurnEnd::Completed }));
            }
        }
        let event = |(seq, data)| Event {
            seq,
            time: 1,
            data,
            surface_op: None,
            source_event_seqs: None,
            ignorable: false,
        };
        Log::new(header, (0..).zip(data).map(event).collect()).unwrap()
    }

    #[test]
    fn d6_the_window_is_what_there_is_of_what_was_asked_for() {
        let window = |turns, requested, most| {
            let HistoryWindow::RecentSteps { requested_steps, projected_steps } =
                recent_steps(&log(turns), requested, most);
            (requested_steps, projected_steps)
        };
        assert_eq!(window(3, 4, 8), (4, 2));
        assert_eq!(window(3, 1, 8), (1, 1));
        assert_eq!(window(9, 8, 4), (8, 4));
        assert_eq!(window(1, 2, 8), (2, 0));
        assert_eq!(window(2_000, 32, 32), (32, 32));
    }
}
