//! `session/export` and `session/search`.

use dsh_protocol::MAX_FRAME_BYTES;
use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::params::session::{
    ExportFormat, SessionExportParams, SessionExportResult, SessionSearchParams,
    SessionSearchResult,
};
use dsh_runtime::session::export;
use serde_json::json;

use super::current;
use crate::cx::Cx;
use crate::handlers::errors;

pub(crate) async fn export(
    cx: &Cx,
    params: SessionExportParams,
) -> Result<SessionExportResult, RpcError> {
    let agent = current(cx, &params.session_id).await?;
    let log = std::sync::Arc::clone(agent.log());
    // A long log keeps a thread busy for a while.
    let text = tokio::task::spawn_blocking(move || match params.format {
        ExportFormat::Jsonl => {
            let mut bytes = Vec::new();
            export::jsonl(&log, &mut bytes)?;
            String::from_utf8(bytes).map_err(std::io::Error::other)
        }
        ExportFormat::Markdown => Ok(export::markdown(&log)),
    })
    .await
    .map_err(std::io::Error::other)
    .flatten()
    .map_err(|error| RpcError::domain(ErrorKind::StorageFailed, error.to_string()))?;
    let bytes: usize = text.bytes().map(|byte| 1 + usize::from(is_escaped(byte))).sum();
    if bytes > MAX_FRAME_BYTES {
        let message = format!("the session has {bytes} bytes as text");
        return Err(RpcError::domain(ErrorKind::LimitExceeded, message)
            .with_fact("limit", json!(MAX_FRAME_BYTES))
            .with_hint("`dsh-ls sessions export` writes it to a file"));
    }
    Ok(SessionExportResult { text })
}

/// Whether a frame has the byte as an escape.
fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

pub(crate) async fn search(
    cx: &Cx,
    params: SessionSearchParams,
) -> Result<SessionSearchResult, RpcError> {
    let workspaces = super::workspaces(cx, params.workspace.as_deref()).await?;
    let limit = super::limited(params.limit);
    let mut found = Vec::new();
    let mut searched = false;
    for workspace in workspaces {
        // A folder whose plugins are being replaced has its services in a moment.
        workspace.agents().await.map_err(|error| errors::mount(&error))?;
        let Some(search) = workspace.session_search() else { continue };
        searched = true;
        let hits = search.search(params.query.clone(), limit).await;
        found.extend(
            hits.map_err(|error| RpcError::domain(ErrorKind::StorageFailed, error.to_string()))?,
        );
    }
    if !searched {
        return Err(RpcError::domain(ErrorKind::Unsupported, "sessions cannot be searched here")
            .with_hint("enable the row `session-search`"));
    }
    found.sort_by(|a, b| a.rank.total_cmp(&b.rank));
    found.truncate(limit);
    Ok(SessionSearchResult { hits: found.into_iter().map(|ranked| ranked.hit).collect() })
}
