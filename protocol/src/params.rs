//! Params and results of the methods, a file for each noun.

pub mod lifecycle;
pub mod model;
pub mod server;
pub mod session;
pub mod tool;
