//! The door for editors: LSP's framing, life cycle and document sync around the method table.
//!
//! tower-lsp's service is called under a transport of our own: its stock one stops reading while it waits to
//! write, and a client that does the same then waits for ever. LSP's types do not leave this crate.

pub mod door;

mod actions;
mod diagnostics;
mod documents;
mod findings;
mod frames;
mod position;
mod progress;
mod restore;
mod service;
