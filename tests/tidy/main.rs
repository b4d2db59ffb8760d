//! The tests of the tree itself: what imports what, how large things are, what they are called, and whether the
//! documents still tell the truth.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod documents;
mod imports;
mod sizes;
mod tree;
mod words;
