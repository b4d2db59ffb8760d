//! The runtime that an editor embeds: workspace folders, each with its own tree of plugins, and their
//! sessions. Knows no protocol door; a program can use it without JSON-RPC.

pub mod runtime;
pub mod workspace;

pub mod buffers;
pub mod notices;
pub mod rows;

pub use dsh_agent as agent;
pub use dsh_llm as llm;
pub use dsh_session as session;
