//! The crate from outside: files in, rows and problems out.

mod checks;
mod dumps;
mod environment_files;
mod expressions;
mod founding;
mod layers;
mod properties;
mod schemas;
mod world;
