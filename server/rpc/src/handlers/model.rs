//! `model/list`.

use dsh_protocol::error::RpcError;
use dsh_protocol::params::model::{ModelListParams, ModelListResult};

use crate::cx::Cx;
use crate::handlers::errors;

pub(crate) async fn list(cx: &Cx, params: ModelListParams) -> Result<ModelListResult, RpcError> {
    let workspace = cx
        .server
        .runtime
        .workspace(params.workspace.as_deref())
        .await
        .map_err(|error| errors::workspace(&error))?;
    let agents = workspace.agents().await.map_err(|error| errors::mount(&error))?;
    let models = workspace.models().await.map_err(|error| errors::mount(&error))?;
    Ok(ModelListResult { models: models.list(&agents.default_model()).await })
}
