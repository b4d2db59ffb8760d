//! Params and results of the methods, a file for each noun.

pub mod command;
pub mod config;
pub mod credential;
pub mod deliberate;
pub mod evidence;
pub mod lifecycle;
pub mod model;
pub mod plugin;
pub mod review;
pub mod server;
pub mod session;
pub mod tool;
