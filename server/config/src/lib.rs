//! Configuration: YAML, profiles, bundles, layers, patches, expressions, and what is wrong with them and where.
//!
//! Reads files and nothing else: who watches them and who mounts the rows is the runtime's business.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "the kinds of YAML and JSON are closed, and most of them are equally wrong in a place"
)]
#![cfg_attr(
    test,
    allow(
        clippy::needless_pass_by_value,
        clippy::needless_raw_string_hashes,
        reason = "`expect!` is written where it is compared, and rewritten by a tool"
    )
)]

pub mod catalogue;
pub mod check;
pub mod compose;
pub mod dump;
pub mod environment_file;
pub mod evaluate;
pub mod expression;
pub mod patch;
pub mod problem;
pub mod profile;
pub mod schema;
pub mod set;
pub mod setting;
pub mod source;
pub mod yaml;

pub mod bundle;

mod apply;
mod emit;
mod rows;
