//! The wire of dsh-ls: its methods, events, content blocks, ids and errors, defined once.
//!
//! JSON Schema, TypeScript, Lua and the method reference are generated from these types by `cargo codegen`.
//! This crate knows no transport, no runtime and no provider.

#![warn(missing_docs)]

pub mod ids;

pub mod content;
pub mod message;

pub mod event;
pub mod evidence;
pub mod turn;

pub mod deliberation;
pub mod review;

pub mod error;
pub mod methods;
pub mod notifications;
pub mod params;
pub mod session;
pub mod subagent;
pub mod tool;
pub mod workspace;

pub mod schema;
pub mod transcript;

/// The version of this wire. A client that names its versions must name this one.
pub const PROTOCOL_VERSION: &str = "1.0";

/// The largest frame that a door accepts, in bytes: 64 MiB.
pub const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

/// How many bytes of undelivered responses a connection may have before the server stops reading from it.
pub const OUTBOX_BYTES: usize = 4 * 1024 * 1024;
