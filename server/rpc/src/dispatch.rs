//! From a decoded request to its handler. A method of the table without an arm here does not compile.

use dsh_protocol::error::{ErrorCode, RpcError};
use dsh_protocol::methods::Request;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::cx::Cx;
use crate::handlers::{model, server, session, tool};
use crate::lanes::Place;
use crate::subscription::Subscription;

/// An answer, and a subscription that begins once the answer is in the outbox.
pub(crate) struct Reply {
    pub(crate) result: Box<RawValue>,
    pub(crate) subscription: Option<Subscription>,
}

/// Runs a request's handler.
pub(crate) async fn dispatch(
    cx: &Cx,
    request: Request,
    mut place: Place,
) -> Result<Reply, RpcError> {
    place.reached().await;
    match request {
        Request::Initialize(_) | Request::Shutdown(_) => {
            Err(RpcError::new(ErrorCode::Internal, "the life cycle is the connection's own"))
        }
        Request::ModelList(params) => reply(model::list(cx, params).await),
        Request::ServerStatus(_) => reply(Ok(server::status(cx))),
        Request::SessionCancel(params) => reply(session::cancel(cx, params).await),
        Request::SessionEvents(params) => reply(session::events(cx, params).await),
        Request::SessionGet(params) => reply(session::get(cx, params).await),
        Request::SessionList(params) => reply(session::list(cx, params).await),
        Request::SessionMessages(params) => reply(session::messages(cx, params).await),
        Request::SessionNew(params) => reply(session::new(cx, params).await),
        Request::SessionPrompt(params) => reply(session::prompt(cx, params).await),
        Request::SessionSubscribe(params) => {
            let (result, subscription) = session::subscribe(cx, params).await?;
            let mut reply = reply(Ok(result))?;
            reply.subscription = Some(subscription);
            Ok(reply)
        }
        Request::SessionUnsubscribe(params) => reply(Ok(session::unsubscribe(cx, &params))),
        Request::SessionWait(params) => {
            // Nothing waits behind a wait.
            place.leave();
            reply(session::wait(cx, params).await)
        }
        Request::ToolCall(params) => {
            place.leave();
            reply(tool::call(cx, params).await)
        }
        Request::ToolList(params) => reply(tool::list(cx, params).await),
    }
}

fn reply<T: Serialize>(outcome: Result<T, RpcError>) -> Result<Reply, RpcError> {
    let result = to_raw_value(&outcome?).map_err(|error| {
        RpcError::new(ErrorCode::Internal, format!("the answer does not serialize: {error}"))
    })?;
    Ok(Reply { result, subscription: None })
}
