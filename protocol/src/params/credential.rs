//! `credential/…`: keys by name. Values go in and never come back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `credential/set`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialSetParams {
    /// The credential's name, such as `DEEPSEEK_API_KEY`.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl std::fmt::Debug for CredentialSetParams {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CredentialSetParams")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Params of `credential/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialDeleteParams {
    /// The credential's name.
    pub name: String,
}

/// Result of `credential/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialListResult {
    /// The names of the credentials that are kept in the home folder, in order.
    pub names: Vec<String>,
}
