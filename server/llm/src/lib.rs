//! Language models: requests, streamed chunks, adapters and their registry.
//!
//! An adapter may fail in any way; what leaves this crate is a stream of chunks that ends with exactly one
//! `finish`. Which adapter answers is the caller's choice; this crate runs no tools and keeps no history.

pub mod adapter;
pub mod assemble;
pub mod credentials;
pub mod http;
pub mod models;
pub mod pairing;
pub mod sse;
pub mod stream;
