//! What is a claim and what is none, and what becomes of each.
