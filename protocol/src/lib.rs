//! The wire of dsh-ls: methods, events, content, errors.

pub mod workspace;
