//! Prints a stream of events as a transcript that people read.
