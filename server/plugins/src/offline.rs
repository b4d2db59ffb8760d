//! The model that needs no network and no key: it searches the workspace and answers with what it found.
