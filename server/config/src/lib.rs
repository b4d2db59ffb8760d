//! Configuration: YAML, profiles, bundles, layers, patches, expressions, and what is wrong with them and where.
//!
//! Reads files and nothing else: who watches them and who mounts the rows is the runtime's business.

pub mod problem;
pub mod source;
pub mod yaml;
