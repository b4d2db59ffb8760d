//! Row `tool-deliberation`: rounds of isolated child agents at a fork in the road.

mod arguments;
mod config;
mod definition;
mod packet;
mod prompts;
mod text;
