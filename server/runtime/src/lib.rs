//! The runtime that an editor embeds: workspace folders, each with its own tree of plugins, and their
//! sessions. Knows no protocol door; a program can use it without JSON-RPC.

pub mod runtime;
pub mod workspace;

pub mod configuration;
pub mod reload;

mod answers;
pub mod trial;

pub mod buffers;
pub mod notices;

mod affected;
mod watch;

pub use dsh_agent as agent;
pub use dsh_config as config;
pub use dsh_kernel as kernel;
pub use dsh_llm as llm;
pub use dsh_session as session;
