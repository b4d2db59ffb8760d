//! From a decoded request to its handler. A method of the table without an arm here does not compile.

use dsh_protocol::error::{ErrorCode, RpcError};
use dsh_protocol::methods::Request;
use dsh_protocol::notifications::SessionChanged;
use dsh_protocol::params::lifecycle::NoParams;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::children::Follower;
use crate::cx::Cx;
use crate::handlers::{
    command, config, credential, deliberate, evidence, model, review, server, session, tool,
};
use crate::lanes::Place;
use crate::subscription::Subscription;

/// An answer, and what happens once it is in the outbox.
pub(crate) struct Reply {
    pub(crate) result: Box<RawValue>,
    pub(crate) then: Option<Then>,
}

impl From<Box<RawValue>> for Reply {
    fn from(result: Box<RawValue>) -> Self {
        Self { result, then: None }
    }
}

/// What a client must not hear of before the answer.
pub(crate) enum Then {
    /// A subscription begins.
    Subscribe(Box<Subscription>, Option<Follower>),
    /// Everybody is told of sessions.
    Tell(Vec<SessionChanged>),
}

/// Runs a request's handler.
pub(crate) async fn dispatch(
    cx: Cx,
    request: Request,
    mut place: Place,
) -> Result<Reply, RpcError> {
    let cx = &cx;
    place.reached().await;
    match request {
        Request::Initialize(_) | Request::Shutdown(_) => {
            Err(RpcError::new(ErrorCode::Internal, "the life cycle is the connection's own"))
        }
        Request::CommandList(params) => reply(command::list(cx, params).await),
        Request::CommandRun(params) => {
            drop(place);
            reply(command::run(cx, params).await)
        }
        Request::ConfigDump(params) => reply(config::dump(cx, params).await),
        Request::ConfigReload(_) => reply(Ok(config::reload(cx).await)),
        Request::ConfigSet(params) => reply(config::set(cx, params).await),
        Request::CredentialDelete(params) => reply(credential::delete(cx, params).await),
        Request::CredentialList(_) => reply(credential::list(cx).await),
        Request::CredentialSet(params) => reply(credential::set(cx, params).await),
        Request::DeliberateCancel(params) => reply(deliberate::cancel(cx, &params).await),
        Request::DeliberateStart(params) => reply(deliberate::start(cx, params).await),
        Request::ModelList(params) => reply(model::list(cx, params).await),
        Request::PluginList(params) => reply(config::plugins(cx, params).await),
        Request::EvidenceSetItem(params) => reply(evidence::set_item(cx, params).await),
        Request::ReviewList(params) => reply(review::list(cx, params).await),
        Request::ReviewSetItem(params) => reply(review::set_item(cx, params).await),
        Request::ReviewStart(params) => reply(review::start(cx, params).await),
        Request::ServerStatus(_) => reply(Ok(server::status(cx))),
        Request::SessionCancel(params) => reply(session::cancel(cx, params).await),
        Request::SessionClose(params) => {
            let session = session::close(cx, &params).await?;
            done_and_tell(NoParams {}, vec![SessionChanged::Changed { session }])
        }
        Request::SessionDelete(params) => {
            let removed = session::delete(cx, &params).await?.into_iter();
            let removed = removed.map(|removed| SessionChanged::Removed { removed });
            done_and_tell(NoParams {}, removed.collect())
        }
        Request::SessionEvents(params) => reply(session::events(cx, params).await),
        Request::SessionExport(params) => reply(session::export(cx, params).await),
        Request::SessionFork(params) => {
            let result = session::fork(cx, params).await?;
            let session = result.session.clone();
            done_and_tell(result, vec![SessionChanged::Changed { session }])
        }
        Request::SessionGet(params) => reply(session::get(cx, params).await),
        Request::SessionList(params) => reply(session::list(cx, params).await),
        Request::SessionMessages(params) => reply(session::messages(cx, params).await),
        Request::SessionNew(params) => {
            let result = session::new(cx, params).await?;
            let session = result.session.clone();
            done_and_tell(result, vec![SessionChanged::Changed { session }])
        }
        Request::SessionPrompt(params) => reply(session::prompt(cx, params).await),
        Request::SessionRename(params) => reply(session::rename(cx, params).await),
        Request::SessionRequest(params) => reply(session::request(cx, params).await),
        Request::SessionSearch(params) => reply(session::search(cx, params).await),
        Request::SessionSetModel(params) => reply(session::set_model(cx, params).await),
        Request::SessionSubscribe(params) => {
            let (result, subscription, children) = session::subscribe(cx, params).await?;
            let then = Some(Then::Subscribe(Box::new(subscription), children));
            Ok(Reply { then, ..reply(Ok(result))? })
        }
        Request::SessionUnsubscribe(params) => reply(Ok(session::unsubscribe(cx, &params))),
        Request::SessionWait(params) => {
            // Nothing waits behind a wait.
            drop(place);
            reply(session::wait(cx, params).await)
        }
        Request::ToolCall(params) => {
            drop(place);
            reply(tool::call(cx, params).await)
        }
        Request::ToolList(params) => reply(tool::list(cx, params).await),
    }
}

/// An answer after which everybody is told of sessions.
fn done_and_tell(result: impl Serialize, changed: Vec<SessionChanged>) -> Result<Reply, RpcError> {
    Ok(Reply { then: Some(Then::Tell(changed)), ..reply(Ok(result))? })
}

fn reply<T: Serialize>(outcome: Result<T, RpcError>) -> Result<Reply, RpcError> {
    let result = to_raw_value(&outcome?).map_err(|error| {
        RpcError::new(ErrorCode::Internal, format!("the answer does not serialize: {error}"))
    })?;
    Ok(Reply::from(result))
}
