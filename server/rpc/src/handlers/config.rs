//! `config/…` and `plugin/list`.

use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::params::config::{
    ConfigDumpParams, ConfigDumpResult, ConfigReloadResult, ConfigRow, ConfigSetParams,
};
use dsh_protocol::params::lifecycle::NoParams;
use dsh_protocol::params::plugin::{PluginInfo, PluginListParams, PluginListResult, PluginState};
use dsh_runtime::config::dump::{DumpOptions, dump as print, list_rows};
use dsh_runtime::config::problem::Problem;
use dsh_runtime::config::set::SetError;
use dsh_runtime::kernel;
use dsh_runtime::kernel::config::KeyPath;
use dsh_runtime::reload::{ConfigSetError, on_the_wire};

use crate::cx::Cx;
use crate::handlers::errors;

pub(crate) async fn dump(cx: &Cx, params: ConfigDumpParams) -> Result<ConfigDumpResult, RpcError> {
    let runtime = &cx.server.runtime;
    let workspace = runtime
        .workspace(params.workspace.as_deref())
        .await
        .map_err(|error| errors::workspace(&error))?;
    let composition = runtime.composition().map_err(|problems| errors::problems(&problems))?;
    let row = |row: dsh_runtime::config::dump::ListedRow| ConfigRow {
        id: row.id,
        name: row.name,
        config: row.config,
        disabled: row.disabled,
        origin: row.origin,
        patched_by: row.patched_by,
    };
    let rows = list_rows(composition.composed(), &composition.environment(workspace.path()));
    Ok(ConfigDumpResult {
        yaml: print(composition.composed(), DumpOptions::default()),
        rows: rows.into_iter().map(row).collect(),
    })
}

pub(crate) async fn reload(cx: &Cx) -> ConfigReloadResult {
    let problems = cx.server.runtime.reload().await;
    ConfigReloadResult {
        ok: !problems.iter().any(Problem::is_error),
        problems: problems.iter().map(on_the_wire).collect(),
    }
}

pub(crate) async fn set(cx: &Cx, params: ConfigSetParams) -> Result<NoParams, RpcError> {
    let path = KeyPath::from(params.path.as_str());
    let set = cx.server.runtime.set_config(&params.row, &path, &params.value).await;
    match set {
        Ok(problems) if problems.iter().any(Problem::is_error) => Err(errors::problems(&problems)),
        Ok(_) => Ok(NoParams {}),
        Err(ConfigSetError::Problems(problems)) => Err(errors::problems(&problems)),
        Err(ConfigSetError::Set(error @ (SetError::NoKey | SetError::InsideList(_)))) => {
            Err(RpcError::invalid_params(error.to_string()))
        }
        Err(error @ ConfigSetError::Set(_)) => {
            Err(RpcError::domain(ErrorKind::ConfigInvalid, error.to_string()))
        }
        Err(error @ ConfigSetError::File { .. }) => {
            Err(RpcError::domain(ErrorKind::StorageFailed, error.to_string()))
        }
    }
}

pub(crate) async fn plugins(
    cx: &Cx,
    params: PluginListParams,
) -> Result<PluginListResult, RpcError> {
    let workspace = cx.server.runtime.workspace(params.workspace.as_deref()).await;
    let workspace = workspace.map_err(|error| errors::workspace(&error))?;
    let info = |plugin: kernel::PluginStatus| PluginInfo {
        id: plugin.id,
        name: plugin.name,
        state: state(plugin.state),
        waiting_for: plugin.waiting_for,
        provides: plugin.provides,
        error: plugin.error,
    };
    Ok(PluginListResult { plugins: workspace.plugins().into_iter().map(info).collect() })
}

fn state(state: kernel::PluginState) -> PluginState {
    match state {
        kernel::PluginState::Pending => PluginState::Pending,
        kernel::PluginState::Loading => PluginState::Loading,
        kernel::PluginState::Active => PluginState::Active,
        kernel::PluginState::Failed => PluginState::Failed,
        kernel::PluginState::Unloading => PluginState::Unloading,
        kernel::PluginState::Disposed => PluginState::Disposed,
    }
}
