//! The tests of behaviour: they start the real `dsh-ls` and say to it what editors, scripts and people say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(clippy::needless_raw_string_hashes, reason = "`UPDATE_EXPECT` writes them")]

mod agent_loop;
mod bad_input;
mod cancel;
mod crash;
mod fidelity;
mod lifecycle;
mod main_path;
mod properties;
mod queue;
mod registries;
mod run;
mod subscribe;
mod tools;
mod two_processes;
