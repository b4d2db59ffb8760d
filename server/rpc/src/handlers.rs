//! One function for each method, a file for each noun.

pub(crate) mod command;
pub(crate) mod config;
pub(crate) mod credential;
pub(crate) mod deliberate;
pub(crate) mod errors;
pub(crate) mod evidence;
pub(crate) mod model;
pub(crate) mod review;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod tool;
