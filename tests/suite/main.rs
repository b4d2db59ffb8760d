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
mod config_command;
mod crash;
mod deliberation;
mod doctor;
mod evidence;
mod evidence_forms;
mod fidelity;
mod files;
mod files_rg;
mod hooks;
mod hot_reload;
mod lifecycle;
mod log_damage;
mod log_index;
mod log_kill;
mod log_pages;
mod log_rows;
mod log_seen;
mod log_storage;
mod lsp_documents;
mod lsp_flow;
mod lsp_framing;
mod lsp_life;
mod main_path;
mod mid_fork;
mod model_answers;
mod model_failures;
mod model_list;
mod model_pauses;
mod offline_reviewer;
mod product;
mod properties;
mod queue;
mod random_edits;
mod registries;
mod request_bodies;
mod review;
mod run;
mod seams;
mod session_children;
mod session_command;
mod session_end;
mod session_export;
mod session_fork;
mod session_idle;
mod session_reconnect;
mod session_resume;
mod session_search;
mod subagents;
mod subscribe;
mod surfaces_cases;
mod tools;
mod two_processes;
