//! `credential/…`.

use std::sync::Arc;

use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::params::credential::{
    CredentialDeleteParams, CredentialListResult, CredentialSetParams,
};
use dsh_protocol::params::lifecycle::NoParams;
use dsh_runtime::llm::credentials::{CredentialError, Credentials};

use crate::cx::Cx;
use crate::handlers::errors;

pub(crate) async fn set(cx: &Cx, params: CredentialSetParams) -> Result<NoParams, RpcError> {
    let is_named = |char: char| char.is_ascii_alphanumeric() || "_-.".contains(char);
    if params.name.is_empty() || !params.name.chars().all(is_named) {
        let message = "`name` must be made of letters, digits, `_`, `-` and `.`";
        return Err(RpcError::invalid_params(message));
    }
    let credentials = credentials(cx).await?;
    credentials.set(&params.name, &params.value).map_err(|error| match error {
        CredentialError::Missing(_) => RpcError::invalid_params("`value` must not be empty"),
        error @ (CredentialError::Invalid(_)
        | CredentialError::File(_)
        | CredentialError::NotKept) => failed(&error),
    })?;
    Ok(NoParams {})
}

pub(crate) async fn delete(cx: &Cx, params: CredentialDeleteParams) -> Result<NoParams, RpcError> {
    credentials(cx).await?.delete(&params.name).map_err(|error| failed(&error))?;
    Ok(NoParams {})
}

pub(crate) async fn list(cx: &Cx) -> Result<CredentialListResult, RpcError> {
    let names = credentials(cx).await?.names().map_err(|error| failed(&error))?;
    Ok(CredentialListResult { names })
}

/// All folders share the home's credentials: any folder leads to them.
async fn credentials(cx: &Cx) -> Result<Arc<dyn Credentials>, RpcError> {
    let workspaces = cx.server.runtime.workspaces().await;
    for workspace in workspaces.map_err(|error| errors::workspace(&error))? {
        let credentials = workspace.credentials().await.map_err(|error| errors::mount(&error))?;
        if let Some(credentials) = credentials {
            return Ok(credentials);
        }
    }
    Err(RpcError::domain(ErrorKind::Unsupported, "no row keeps credentials")
        .with_hint("open a folder, and enable the row `credentials`"))
}

fn failed(error: &CredentialError) -> RpcError {
    let message = error.to_string();
    match error {
        CredentialError::Missing(name) => RpcError::domain(
            ErrorKind::CredentialMissing,
            format!("the home folder keeps no credential `{name}`"),
        ),
        CredentialError::Invalid(_) => RpcError::invalid_params(message),
        CredentialError::File(_) => RpcError::domain(ErrorKind::StorageFailed, message),
        CredentialError::NotKept => RpcError::domain(ErrorKind::Unsupported, message),
    }
}
