//! The wire as clients meet it: shapes of JSON, errors of requests, and the shared fixtures.

#![cfg(test)]
#![allow(clippy::needless_raw_string_hashes, reason = "`UPDATE_EXPECT=1` writes the hashes")]
#![allow(clippy::needless_pass_by_value, reason = "a check takes over what it expects")]

mod decode;
mod events;
mod fixtures;
mod transcript;
mod wire_rules;
