//! The session's log: append-only events, the state folded from them, and where they are kept.
//!
//! The log is the only truth of a session. One [`writer::Writer`] appends; everyone else reads a
//! [`log::Log`]. This crate runs no turn and knows neither tools nor models.

pub mod log;
pub mod writer;

mod events;
mod run;

pub mod fold;
pub mod inbox;
pub mod surface;

pub mod activations;
pub mod repair;
pub mod review_stats;
pub mod reviews;
pub mod rounds;

pub mod export;
pub mod fork;

pub mod jsonl;
pub mod store;

pub mod clock;
