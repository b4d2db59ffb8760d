//! The harness of the tests that drive the real `dsh-ls` process.
//!
//! A test makes a [`world::World`] (a home and a workspace folder of its own), starts clients in it and says what
//! the model answers. When the world goes, every log in it is checked, so each test also asserts what holds
//! of every session.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(clippy::needless_pass_by_value, reason = "`json!` values are made for the call")]

pub mod check_turn;
pub mod fixture;

pub mod client;
pub mod framing;
mod heard;
pub mod network;
mod process;
pub mod world;

pub mod check_log;
pub mod rows;
pub mod rules;

/// The tools of the default configuration.
pub const TOOLS: [&str; 9] = [
    "deliberate",
    "glob",
    "grep",
    "interrupt_agent",
    "list_agents",
    "read",
    "send_message",
    "subagent",
    "subagent_fork",
];

/// The tools of the default configuration without some.
pub fn tools_but(left_out: &[&str]) -> Vec<String> {
    TOOLS.into_iter().filter(|name| !left_out.contains(name)).map(str::to_owned).collect()
}

/// How often a test repeats what depends on chance: `usually`, and `soaked` where `DSH_TESTS_SOAK` is set.
pub fn thorough(usually: usize, soaked: usize) -> usize {
    if std::env::var_os("DSH_TESTS_SOAK").is_some() { soaked } else { usually }
}

pub mod answers;
pub mod script;
pub mod seed;
pub mod trajectories;
