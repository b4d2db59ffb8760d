//! `review/start`, `review/list` and `review/setItem`.

use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::event::{EventData, ReviewItemChanged};
use dsh_protocol::ids::{ReviewId, SessionId};
use dsh_protocol::params::lifecycle::NoParams;
use dsh_protocol::params::review::{
    ReviewListParams, ReviewListResult, ReviewSetItemParams, ReviewStartParams, ReviewStartResult,
};
use dsh_protocol::review::ReviewItemState;
use dsh_runtime::agent::agent::Agent;
use dsh_runtime::agent::deliberation::ReviewError;
use dsh_runtime::runtime::{Runtime, SessionError};
use dsh_runtime::session::reviews::{Review, ReviewState};
use serde_json::json;

use crate::cx::Cx;
use crate::handlers::errors;

pub(crate) async fn start(
    cx: &Cx,
    params: ReviewStartParams,
) -> Result<ReviewStartResult, RpcError> {
    let found = cx.server.runtime.session(&params.session_id).await;
    let (workspace, agent) = found.map_err(|error| errors::session(&error))?;
    agent.refresh().await.map_err(|error| errors::command(&error))?;
    let Some(deliberation) = workspace.deliberation() else {
        return Err(unsupported("no reviews can be run here".to_owned()));
    };
    let begun = deliberation.review(agent, params.publish.unwrap_or(false)).await;
    let review_id = begun.map_err(|error| match error {
        ReviewError::OpenTurn => RpcError::domain(ErrorKind::OpenTurn, error.to_string()),
        ReviewError::NoTurn => RpcError::domain(ErrorKind::InvalidBoundary, error.to_string()),
        ReviewError::Unavailable(message) => unsupported(message),
        ReviewError::Command(error) => errors::command(&error),
    })?;
    Ok(ReviewStartResult { review_id })
}

fn unsupported(message: String) -> RpcError {
    RpcError::domain(ErrorKind::Unsupported, message)
        .with_hint("`plugin/list` tells what the row `tool-deliberation` waits for")
}

pub(crate) async fn list(cx: &Cx, params: ReviewListParams) -> Result<ReviewListResult, RpcError> {
    let found = cx.server.runtime.session(&params.session_id).await;
    let (_, agent) = found.map_err(|error| errors::session(&error))?;
    agent.refresh().await.map_err(|error| errors::command(&error))?;
    let reviews = agent.log().read(|fold| fold.reviews.iter().filter_map(Review::info).collect());
    Ok(ReviewListResult { reviews })
}

pub(crate) async fn set_item(cx: &Cx, params: ReviewSetItemParams) -> Result<NoParams, RpcError> {
    let agent = reviewed(&cx.server.runtime, &params.review_id).await?;
    let items = agent.log().read(|fold| known(&fold.reviews, &params.review_id));
    let items = items.ok_or_else(|| not_found(&params.review_id))?;
    let at = usize::try_from(params.index).unwrap_or(usize::MAX);
    let Some(state) = items.get(at) else {
        let message = format!("review `{}` has {} items", params.review_id, items.len());
        return Err(RpcError::invalid_params(message));
    };
    if *state == params.state {
        return Ok(NoParams {});
    }
    let ReviewSetItemParams { review_id, index, state } = params;
    let changed = EventData::ReviewItemChanged(ReviewItemChanged { review_id, index, state });
    agent.record_on_disk(vec![changed]).await.map_err(|error| errors::command(&error))?;
    Ok(NoParams {})
}

/// Where the items of a review stand, if the session has it.
fn known(
    reviews: &dsh_runtime::session::reviews::Reviews,
    id: &ReviewId,
) -> Option<Vec<ReviewItemState>> {
    let review = reviews.get(id)?;
    Some(match &review.state {
        ReviewState::Settled(settled) => settled.items.iter().map(|(_, state)| *state).collect(),
        ReviewState::Open | ReviewState::Released(_) => Vec::new(),
    })
}

/// The session that a review is of: its child agent's session has the review's name and knows its parent.
async fn reviewed(runtime: &Runtime, id: &ReviewId) -> Result<Agent, RpcError> {
    let child = match runtime.session(&SessionId::from(id.as_str())).await {
        Ok((_, child)) => child,
        Err(SessionError::NotFound(_)) => return Err(not_found(id)),
        Err(error) => return Err(errors::session(&error)),
    };
    let parent = child.log().header().parent_session.clone().ok_or_else(|| not_found(id))?;
    let found = runtime.session(&parent).await;
    let (_, agent) = found.map_err(|error| match error {
        SessionError::NotFound(_) => not_found(id),
        SessionError::Open(_) | SessionError::Mount(_) => errors::session(&error),
    })?;
    agent.refresh().await.map_err(|error| errors::command(&error))?;
    Ok(agent)
}

fn not_found(id: &ReviewId) -> RpcError {
    RpcError::domain(ErrorKind::ReviewNotFound, format!("there is no review `{id}`"))
        .with_fact("reviewId", json!(id))
}
