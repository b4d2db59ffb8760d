//! The method table at work: connections, their outboxes and subscriptions, and the NDJSON door.
//!
//! A door turns bytes into frames; what a frame means is decided here, the same for every door.

pub mod connection;
pub mod extension;
pub mod ndjson;
pub mod outbox;

mod children;
mod client_process;
mod cx;
mod dispatch;
mod frame;
mod handlers;
mod lanes;
mod lifecycle;
mod subscription;

pub use cx::Server;
pub use handlers::errors::command as command_failed;
