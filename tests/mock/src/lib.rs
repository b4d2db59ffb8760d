//! A model server for tests: it speaks HTTP over a bare socket and answers each request with exact bytes.
//!
//! Nothing between the script and the wire joins, splits or repairs anything, so a test decides where a piece
//! ends, when it comes and how the connection dies. It knows no code of ours.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod answer;
pub mod server;

pub mod script;
pub mod strict;

mod connection;
