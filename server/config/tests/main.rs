//! The crate from outside: files in, rows and problems out.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::needless_pass_by_value,
    clippy::needless_raw_string_hashes,
    reason = "`expect!` is written where it is compared, and rewritten by a tool"
)]

mod checks;
mod dumps;
mod environment_files;
mod expressions;
mod founding;
mod layers;
mod properties;
mod schemas;
mod world;
