//! Agents: sessions that run turns.
//!
//! A prompt goes into an inbox; a turn claims it, asks the model, runs the tools that the model asks for and
//! asks again until the model owes nothing. This crate names no door, no provider and no file system: those
//! come as services, whose definitions stand here.

pub mod agent;
pub mod agents;
pub mod background;
pub mod hooks;
pub mod request;
pub mod setup;
pub mod wait;

mod actor;
mod retry;
mod schedule;
pub mod spill;
mod step;
mod turn;

pub mod agent_loop;
pub mod prompt;
pub mod tool;
pub mod tools;

pub mod commands;
pub mod deliberation;
pub mod evidence;
pub mod files;
pub mod host;
pub mod names;
pub mod session_search;
pub mod sessions;
pub mod subagents;
