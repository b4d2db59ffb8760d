//! Kernels driven from outside: rows go in, what plugins did and where they stand comes out.

mod harness;
mod lifecycle;
mod random;
mod realms;
mod rows;
mod shutdown;
mod update;
