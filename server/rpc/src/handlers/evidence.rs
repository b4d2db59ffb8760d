//! `evidence/setItem`.

use dsh_protocol::error::RpcError;
use dsh_protocol::event::{EventData, EvidenceItemChanged};
use dsh_protocol::params::evidence::EvidenceSetItemParams;
use dsh_protocol::params::lifecycle::NoParams;

use crate::cx::Cx;
use crate::handlers::errors;

pub(crate) async fn set_item(cx: &Cx, params: EvidenceSetItemParams) -> Result<NoParams, RpcError> {
    let found = cx.server.runtime.session(&params.session_id).await;
    let (_, agent) = found.map_err(|error| errors::session(&error))?;
    agent.refresh().await.map_err(|error| errors::command(&error))?;
    let EvidenceSetItemParams { seq, index, state, .. } = params;
    let failures = agent.log().read(|fold| fold.failed_claims.get(&seq).copied());
    if failures.is_none_or(|failures| index >= failures) {
        return Err(RpcError::invalid_params(format!(
            "event {seq} is no check at which claim {index} failed"
        )));
    }
    let changed = EventData::EvidenceItemChanged(EvidenceItemChanged { seq, index, state });
    agent.record_on_disk(vec![changed]).await.map_err(|error| errors::command(&error))?;
    Ok(NoParams {})
}
