//! The `session/…` methods that change a session or tell of it. Those that read its log are in `log`.

use std::sync::Arc;
use std::time::Duration;

use dsh_protocol::content::ContentBlock;
use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::ids::{MessageId, ModelId, SessionId};
use dsh_protocol::params::lifecycle::NoParams;
use dsh_protocol::params::session::{
    ModelChoice, SessionCancelParams, SessionCancelResult, SessionGetResult, SessionIdParams,
    SessionListParams, SessionListResult, SessionNewParams, SessionNewResult, SessionPromptParams,
    SessionPromptResult, SessionRenameParams, SessionSetModelParams, SessionWaitParams,
    SessionWaitResult, UnreadableSession,
};
use dsh_protocol::session::SessionInfo;
use dsh_protocol::turn::{AbortReason, NoTurn};
use dsh_runtime::agent::agent::{Agent, Cancel, CommandError, Prompt};
use dsh_runtime::agent::agents::{NewSession, OpenError, listed};
use dsh_runtime::agent::wait::{Waited, wait as wait_for};
use dsh_runtime::session::store::Unreadable;
use dsh_runtime::workspace::Workspace;
use serde_json::json;

use crate::cx::Cx;
use crate::handlers::errors;

mod life;
mod log;
mod text;

pub(crate) use life::{close, delete, fork};
pub(crate) use log::{events, messages, request, subscribe, unsubscribe};
pub(crate) use text::{export, search};

/// How many sessions a list returns unless told, and at most.
const LIST: u64 = 50;
const LIST_MOST: u64 = 500;

/// How many sessions that cannot be read a list tells of.
const UNREADABLE_MOST: usize = 500;

/// How many agents of a session are told something before it is given up: each of them has closed.
const ATTEMPTS: u32 = 3;

/// How many characters a title may have: it is shown on one line.
const TITLE_MOST: usize = 500;

/// The agent of a session.
async fn agent(cx: &Cx, id: &SessionId) -> Result<Agent, RpcError> {
    let (_, agent) =
        cx.server.runtime.session(id).await.map_err(|error| errors::session(&error))?;
    Ok(agent)
}

/// Tells the agent of a session something. One that has closed meanwhile, as a child's does when its run is over, did
/// not hear it: the session's next one is told.
async fn tell<T, F>(cx: &Cx, id: &SessionId, told: impl Fn(Agent) -> F) -> Result<T, RpcError>
where
    F: Future<Output = Result<T, CommandError>>,
{
    let mut left = ATTEMPTS;
    loop {
        left -= 1;
        match told(agent(cx, id).await?).await {
            Err(CommandError::Closed) if left > 0 => {}
            outcome => return outcome.map_err(|error| errors::command(&error)),
        }
    }
}

/// The agent of a session, after what other processes have appended was taken in.
async fn current(cx: &Cx, id: &SessionId) -> Result<Agent, RpcError> {
    let agent = tell(cx, id, |agent| async move { agent.refresh().await.map(|()| agent) }).await?;
    agent.write_through();
    Ok(agent)
}

/// The agent of a session, after what a crash left open was closed.
async fn repaired(cx: &Cx, id: &SessionId) -> Result<Agent, RpcError> {
    tell(cx, id, |agent| async move { agent.repair().await.map(|()| agent) }).await
}

pub(crate) async fn new(cx: &Cx, params: SessionNewParams) -> Result<SessionNewResult, RpcError> {
    if let Some(id) = &params.session_id
        && !id.is_choosable()
    {
        return Err(RpcError::invalid_params("`sessionId` must be 1 to 64 of A-Z a-z 0-9 _ -"));
    }
    let runtime = &cx.server.runtime;
    let workspace = runtime
        .workspace(params.workspace.as_deref())
        .await
        .map_err(|error| errors::workspace(&error))?;
    let mut folders: Vec<String> = Vec::new();
    for name in params.additional_workspaces.into_iter().flatten() {
        let further = runtime.workspace(Some(&name)).await;
        let further = further.map_err(|error| errors::workspace(&error))?;
        let path = further.path().to_string_lossy().into_owned();
        if further.path() != workspace.path() && !folders.contains(&path) {
            folders.push(path);
        }
    }
    let model = match params.model {
        Some(choice) => Some(model(&workspace, choice).await?),
        None => None,
    };
    let title = params.title.filter(|title| !title.trim().is_empty());
    let title = title.map(|title| on_one_line(&title)).transpose()?;
    let session = NewSession { id: params.session_id, title, model, folders };
    let agents = workspace.agents().await.map_err(|error| errors::mount(&error))?;
    let agent = agents.create(session).await.map_err(|error| errors::open(&error))?;
    runtime.remember(agent.id().clone(), &workspace);
    Ok(SessionNewResult { session: info(&agent).await? })
}

/// The model that a client names. Its provider must be mounted; whether it answers is for the turn to see.
async fn model(workspace: &Arc<Workspace>, choice: ModelChoice) -> Result<ModelId, RpcError> {
    let model = match choice {
        ModelChoice::Id(model) => model,
        ModelChoice::Name(name) => ModelId::parse(&name)
            .ok_or_else(|| RpcError::invalid_params(format!("`{name}` is not PROVIDER/MODEL")))?,
    };
    let models = workspace.models().await.map_err(|error| errors::mount(&error))?;
    if models.adapter(&model.provider).is_none() {
        let message = format!("no adapter serves the provider `{}`", model.provider);
        return Err(RpcError::domain(ErrorKind::ModelNotFound, message)
            .with_hint("`model/list` tells which models there are"));
    }
    Ok(model)
}

async fn info(agent: &Agent) -> Result<SessionInfo, RpcError> {
    agent.info().await.map_err(|error| errors::command(&error))
}

/// The folder that a client names, or all that are open.
async fn workspaces(cx: &Cx, name: Option<&str>) -> Result<Vec<Arc<Workspace>>, RpcError> {
    let runtime = &cx.server.runtime;
    match name {
        Some(name) => runtime.workspace(Some(name)).await.map(|workspace| vec![workspace]),
        None => runtime.workspaces().await,
    }
    .map_err(|error| errors::workspace(&error))
}

pub(crate) async fn list(
    cx: &Cx,
    params: SessionListParams,
) -> Result<SessionListResult, RpcError> {
    let (mut sessions, mut unreadable) = (Vec::new(), Vec::new());
    for workspace in workspaces(cx, params.workspace.as_deref()).await? {
        let agents = workspace.agents().await.map_err(|error| errors::mount(&error))?;
        let (listed, not_read) = agents.list_all().await.map_err(|error| errors::open(&error))?;
        sessions.extend(listed);
        unreadable.extend(not_read.into_iter().map(|log| not_readable(log, workspace.uri())));
    }
    let query = params.query.as_deref().unwrap_or_default();
    let mut sessions = listed(sessions, query, params.include_children.unwrap_or(false));
    if let Some(cursor) = params.cursor {
        let behind: (i64, String) = serde_json::from_str(&cursor).map_err(|_| {
            RpcError::domain(ErrorKind::CursorInvalid, "the cursor is not one of this list")
        })?;
        sessions.retain(|session| position(session) > behind);
        unreadable.clear();
    }
    let lowercase = query.to_lowercase();
    unreadable.retain(|log| log.session_id.0.to_lowercase().contains(&lowercase));
    unreadable.truncate(UNREADABLE_MOST);
    let limit = limited(params.limit);
    let more = sessions.len() > limit;
    sessions.truncate(limit);
    let next_cursor =
        sessions.last().filter(|_| more).map(|session| json!(position(session)).to_string());
    Ok(SessionListResult { sessions, next_cursor, unreadable })
}

/// How many things a list returns.
fn limited(limit: Option<u64>) -> usize {
    usize::try_from(limit.unwrap_or(LIST).min(LIST_MOST)).unwrap_or(usize::MAX)
}

/// A session that cannot be read, as a list says it: what asks for it is refused in the same words.
fn not_readable(log: Unreadable, workspace: &str) -> UnreadableSession {
    let refusal = errors::open(&OpenError::Store(log.error));
    UnreadableSession {
        session_id: log.id,
        workspace: workspace.to_owned(),
        path: log.path.map(|path| path.to_string_lossy().into_owned()),
        kind: refusal.data.map_or(ErrorKind::LogDamaged, |data| data.kind),
        message: refusal.message,
    }
}

/// Where a session stands in the list, whose order `listed` makes.
fn position(session: &SessionInfo) -> (i64, String) {
    (-i64::try_from(session.updated_at).unwrap_or(i64::MAX), session.session_id.0.clone())
}

/// A title on one line: it stands in lists and in terminals.
fn on_one_line(text: &str) -> Result<String, RpcError> {
    let words = text.split(|char: char| char.is_whitespace() || char.is_control());
    let title = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match title.chars().count() {
        0 => Err(RpcError::invalid_params("`title` must not be empty")),
        1..=TITLE_MOST => Ok(title),
        _ => Err(RpcError::invalid_params(format!(
            "`title` must have at most {TITLE_MOST} characters"
        ))),
    }
}

pub(crate) async fn rename(cx: &Cx, params: SessionRenameParams) -> Result<NoParams, RpcError> {
    let title = on_one_line(&params.title)?;
    let rename = |agent: Agent| {
        let title = title.clone();
        async move { agent.rename(title).await }
    };
    tell(cx, &params.session_id, rename).await?;
    Ok(NoParams {})
}

pub(crate) async fn set_model(
    cx: &Cx,
    params: SessionSetModelParams,
) -> Result<NoParams, RpcError> {
    let found = cx.server.runtime.session(&params.session_id).await;
    let (workspace, _) = found.map_err(|error| errors::session(&error))?;
    let model = model(&workspace, params.model).await?;
    let choose = |agent: Agent| {
        let model = model.clone();
        async move { agent.set_model(model).await }
    };
    tell(cx, &params.session_id, choose).await?;
    Ok(NoParams {})
}

pub(crate) async fn get(cx: &Cx, params: SessionIdParams) -> Result<SessionGetResult, RpcError> {
    let id = &params.session_id;
    let on_disk = cx.server.runtime.session_on_disk(id).await;
    if let Some(session) = on_disk.map_err(|error| errors::session(&error))? {
        return Ok(SessionGetResult {
            session: session.info,
            usage: session.usage,
            totals: session.totals,
            queue: session.queue,
            pending_approvals: Vec::new(),
        });
    }
    let look = |agent: Agent| async move {
        agent.repair().await?;
        agent.info().await.map(|session| (agent, session))
    };
    let (agent, session) = tell(cx, id, look).await?;
    Ok(agent.log().read(|fold| SessionGetResult {
        session,
        usage: fold.usage,
        totals: fold.totals,
        queue: fold.inbox.queue(),
        pending_approvals: Vec::new(),
    }))
}

pub(crate) async fn prompt(
    cx: &Cx,
    params: SessionPromptParams,
) -> Result<SessionPromptResult, RpcError> {
    let content = match (params.text, params.content) {
        (Some(text), None) => vec![ContentBlock::Text { text }],
        (None, Some(content)) => content,
        (Some(_), Some(_)) => {
            return Err(RpcError::invalid_params("give `text` or `content`, not both"));
        }
        (None, None) => return Err(RpcError::invalid_params("a prompt needs `text` or `content`")),
    };
    check_content(&content)?;
    let prompt = Prompt {
        content,
        delivery: params.delivery.unwrap_or_default(),
        client_message_id: params.client_message_id,
    };
    let say = |agent: Agent| {
        let prompt = prompt.clone();
        async move { agent.prompt(prompt).await }
    };
    let receipt = tell(cx, &params.session_id, say).await?;
    Ok(SessionPromptResult { message_id: receipt.message_id, delivery: receipt.delivery })
}

/// Only what a person can say is accepted, and something must be said.
fn check_content(content: &[ContentBlock]) -> Result<(), RpcError> {
    let mut says_something = false;
    for block in content {
        match block {
            ContentBlock::Text { text } => says_something |= !text.trim().is_empty(),
            ContentBlock::Image { data, attachment, .. } => {
                if data.is_some() == attachment.is_some() {
                    return Err(RpcError::invalid_params("an image needs `data` or `attachment`"));
                }
                says_something = true;
            }
            ContentBlock::Resource { .. } => says_something = true,
            ContentBlock::Reasoning { .. }
            | ContentBlock::ToolCall { .. }
            | ContentBlock::ToolResult { .. } => {
                return Err(RpcError::invalid_params(
                    "a prompt holds text, images and resources only",
                ));
            }
        }
    }
    if says_something { Ok(()) } else { Err(RpcError::invalid_params("the prompt is blank")) }
}

pub(crate) async fn cancel(
    cx: &Cx,
    params: SessionCancelParams,
) -> Result<SessionCancelResult, RpcError> {
    let cancel = Cancel {
        turn: params.turn,
        keep_queue: params.keep_queue.unwrap_or(false),
        reason: AbortReason::User,
    };
    let stop = |agent: Agent| async move { agent.cancel(cancel).await };
    let cancelled = tell(cx, &params.session_id, stop).await?;
    Ok(SessionCancelResult { cancelled: cancelled.cancelled, discarded: cancelled.discarded })
}

pub(crate) async fn wait(
    cx: &Cx,
    params: SessionWaitParams,
) -> Result<SessionWaitResult, RpcError> {
    let agent = repaired(cx, &params.session_id).await?;
    let message = params.message_id.as_ref();
    let patience = async {
        match params.timeout_ms {
            Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            None => std::future::pending().await,
        }
    };
    let waited = tokio::select! {
        biased;
        waited = wait_for(&agent, message) => waited,
        () = patience => Ok(Waited::without_turn(NoTurn::Pending)),
        () = nothing_will_wake(cx, &agent, message) => Ok(Waited::without_turn(NoTurn::Pending)),
    }
    .map_err(|error| {
        RpcError::domain(ErrorKind::MessageNotFound, error.to_string())
            .with_fact("messageId", json!(error.0))
    })?;
    Ok(SessionWaitResult {
        turn: waited.turn,
        outcome: waited.outcome,
        text: waited.text,
        usage: waited.usage,
    })
}

/// Waits until the client can say nothing more and the session rests: a message that was injected and that no
/// turn has taken by then stays where it is.
async fn nothing_will_wake(cx: &Cx, agent: &Agent, message: Option<&MessageId>) {
    cx.input_ended.cancelled().await;
    let rested = wait_for(agent, None).await;
    if message.is_none() || rested.is_err() {
        std::future::pending::<()>().await;
    }
}
