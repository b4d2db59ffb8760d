//! The whole wire as one JSON Schema document.
