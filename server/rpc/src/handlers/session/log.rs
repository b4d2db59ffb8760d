//! The `session/…` methods that read a session's log.

use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::event::Event;
use dsh_protocol::message::Message;
use dsh_protocol::params::lifecycle::NoParams;
use dsh_protocol::params::session::{
    SessionEventsParams, SessionEventsResult, SessionIdParams, SessionMessagesParams,
    SessionMessagesResult, SessionRequestParams, SessionRequestResult, SessionSubscribeParams,
    SessionSubscribeResult,
};
use dsh_runtime::agent::request::{Attempt, RebuildError, rebuild};
use dsh_runtime::session::fold::Fold;
use dsh_runtime::session::log::Log;
use dsh_runtime::session::store::PageWanted;
use serde_json::json;

use super::{current, repaired};
use crate::children::Follower;
use crate::cx::Cx;
use crate::handlers::errors;
use crate::subscription::Subscription;

/// How many events a page has unless told, and at most.
const PAGE: u64 = 500;
const PAGE_MOST: u64 = 5000;

pub(crate) async fn events(
    cx: &Cx,
    params: SessionEventsParams,
) -> Result<SessionEventsResult, RpcError> {
    let id = &params.session_id;
    let after = params.after.unwrap_or(-1);
    let limit = usize::try_from(params.limit.unwrap_or(PAGE).min(PAGE_MOST)).unwrap_or(usize::MAX);
    let wanted = PageWanted { after, limit, types: params.types };
    let on_disk = cx.server.runtime.page_on_disk(id, wanted.clone()).await;
    let page = if let Some(page) = on_disk.map_err(|error| errors::session(&error))? {
        page
    } else {
        let agent = current(cx, id).await?;
        let page = agent.log().page(after, limit, |event| wanted.takes(event.data.name()));
        agent.write_through();
        page
    };
    check_cursor(after, page.last_seq)?;
    Ok(SessionEventsResult {
        events: page.events.iter().map(|event| Event::clone(event)).collect(),
        last_seq: page.last_seq,
        more: page.more,
    })
}

pub(crate) async fn messages(
    cx: &Cx,
    params: SessionMessagesParams,
) -> Result<SessionMessagesResult, RpcError> {
    let agent = current(cx, &params.session_id).await?;
    let last_seq = agent.log().last_seq();
    let at = params.at.unwrap_or(last_seq);
    check_cursor(at, last_seq)?;
    let result = |fold: &Fold| SessionMessagesResult {
        header: fold.header.clone(),
        messages: fold.surface.messages().iter().map(|message| Message::clone(message)).collect(),
    };
    if at == last_seq {
        return Ok(agent.log().read(result));
    }
    let events = agent.log().page(-1, usize::try_from(at + 1).unwrap_or(0), |_| true).events;
    match Fold::of(events.iter().map(AsRef::as_ref)) {
        Ok(fold) => Ok(result(&fold)),
        Err(violation) => Err(RpcError::domain(ErrorKind::LogDamaged, violation.to_string())),
    }
}

pub(crate) async fn request(
    cx: &Cx,
    params: SessionRequestParams,
) -> Result<SessionRequestResult, RpcError> {
    let runtime = &cx.server.runtime;
    let (workspace, agent) =
        runtime.session(&params.session_id).await.map_err(|error| errors::session(&error))?;
    let which = Attempt { turn: params.turn, step: params.step, attempt: params.attempt };
    let models = workspace.models().await.map_err(|error| errors::mount(&error))?;
    let rebuilt = rebuild(agent.log(), &models, which).map_err(|error| match &error {
        RebuildError::NotFound => RpcError::invalid_params(error.to_string()),
        RebuildError::NoAdapter(_) => RpcError::domain(ErrorKind::ModelNotFound, error.to_string()),
        RebuildError::Damaged(_) => RpcError::domain(ErrorKind::LogDamaged, error.to_string()),
    })?;
    Ok(SessionRequestResult {
        provider: rebuilt.provider,
        model: rebuilt.model,
        body: String::from_utf8_lossy(&rebuilt.body).into_owned(),
        exact: rebuilt.exact,
    })
}

pub(crate) async fn subscribe(
    cx: &Cx,
    params: SessionSubscribeParams,
) -> Result<(SessionSubscribeResult, Subscription, Option<Follower>), RpcError> {
    let withheld = cx.outbox.withhold(&params.session_id);
    let agent = repaired(cx, &params.session_id).await?;
    let last_seq = agent.log().last_seq();
    agent.write_through();
    let after = params.after.unwrap_or(last_seq);
    check_cursor(after, last_seq)?;
    let chunks = params.chunks.unwrap_or(true);
    let since = params.after.map(|after| time_of(agent.log(), after));
    let mut subscription = Subscription::new(agent, after, last_seq, chunks, withheld);
    let children = params.children.unwrap_or(false);
    let children =
        children.then(|| Follower::of(&mut subscription, params.session_id.clone(), since));
    Ok((SessionSubscribeResult { last_seq }, subscription, children))
}

/// When an event was appended; 0 of the place before the first one.
fn time_of(log: &Log, seq: i64) -> u64 {
    if seq < 0 {
        return 0;
    }
    log.page(seq - 1, 1, |_| true).events.first().map_or(0, |event| event.time)
}

pub(crate) fn unsubscribe(cx: &Cx, params: &SessionIdParams) -> NoParams {
    cx.outbox.unsubscribe(&params.session_id);
    NoParams {}
}

/// A cursor lies in the log or just before it.
fn check_cursor(cursor: i64, last_seq: i64) -> Result<(), RpcError> {
    if (-1..=last_seq).contains(&cursor) {
        return Ok(());
    }
    let message = format!("the cursor {cursor} lies outside the log, whose last seq is {last_seq}");
    Err(RpcError::domain(ErrorKind::CursorInvalid, message).with_fact("lastSeq", json!(last_seq)))
}
