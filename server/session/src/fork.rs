//! What a fork of a session begins with.

use std::sync::Arc;

use dsh_protocol::event::{Event, EventData};

use crate::log::Log;

/// Why a session cannot be forked at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    /// There is no event there.
    #[error("the boundary {boundary} lies outside the log, whose last seq is {last_seq}")]
    InvalidBoundary {
        /// The place.
        boundary: i64,
        /// Seq of the log's last event.
        last_seq: i64,
    },
    /// The place lies inside a turn.
    #[error("event {boundary} lies inside a turn; fork where one has ended")]
    OpenTurn {
        /// The place.
        boundary: i64,
    },
}

/// The events up to `boundary`, which is the last one there is unless said; none of a log without events. Shared
/// with the log, but for the deltas of answers.
pub fn seed(log: &Log, boundary: Option<i64>) -> Result<Vec<Arc<Event>>, ForkError> {
    let last_seq = log.last_seq();
    let boundary = boundary.unwrap_or(last_seq);
    if boundary > last_seq || (boundary < 0 && last_seq >= 0) || boundary < -1 {
        return Err(ForkError::InvalidBoundary { boundary, last_seq });
    }
    let length = usize::try_from(boundary + 1).unwrap_or(0);
    let events = log.page(-1, length, |_| true).events;
    let mark =
        |event: &&Arc<Event>| matches!(event.data, EventData::TurnStart(_) | EventData::TurnEnd(_));
    let last = events.iter().rev().find(mark);
    if last.is_some_and(|event| matches!(event.data, EventData::TurnStart(_))) {
        return Err(ForkError::OpenTurn { boundary });
    }
    Ok(events)
}
