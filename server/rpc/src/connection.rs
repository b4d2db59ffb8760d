//! One client: its life cycle, the requests that it waits for, and what is sent to it.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use dsh_kernel::registration::Registration;
use dsh_protocol::error::{ErrorCode, ErrorKind, RpcError};
use dsh_protocol::methods::{DecodeError, Request};
use dsh_protocol::notifications::Notification;
use dsh_protocol::params::lifecycle::{InitializeParams, InitializeResult, NoParams};
use dsh_protocol::{MAX_FRAME_BYTES, OUTBOX_BYTES};
use dsh_runtime::agent::host::Observer;
use dsh_runtime::notices::Listener;
use dsh_runtime::runtime::Unwritten;
use futures_util::FutureExt;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::client_process;
use crate::cx::{Cx, Server};
use crate::dispatch::{Reply, Then, dispatch};
use crate::extension::{BoxFuture, Extension};
use crate::frame::{self, Incoming, Refused, RequestId};
use crate::handlers::errors;
use crate::lanes::Lanes;
use crate::lifecycle;
use crate::outbox::Outbox;

/// How many requests of a connection may be under way; each costs a task.
const REQUESTS: usize = 16_384;

/// One client.
pub struct Connection {
    cx: Cx,
    state: Mutex<State>,
    lanes: Lanes,
    /// A request was answered.
    answered: Notify,
    /// The client's process has ended.
    client_gone: CancellationToken,
    extension: Option<Arc<dyn Extension>>,
}

struct State {
    phase: Phase,
    /// The requests under way by our own count: a client may use an id twice at once.
    in_flight: BTreeMap<u64, (RequestId, Arc<Stop>)>,
    /// How many requests there have been.
    requests: u64,
    /// Hears of sessions from `initialize` on.
    listening: Option<Registration>,
    exit: Option<Exit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before `initialize`.
    New,
    Running,
    /// After `shutdown`.
    ShutDown,
}

/// How the client ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// `exit` after `shutdown`.
    Clean,
    /// `exit` without `shutdown`.
    Abrupt,
}

/// Stops one request under way, with the error that answers it.
struct Stop {
    token: CancellationToken,
    error: Mutex<Option<RpcError>>,
}

impl Stop {
    fn with(&self, error: RpcError) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.token.cancel();
    }
}

#[derive(Deserialize)]
struct CancelRequest {
    id: Box<RawValue>,
}

impl Connection {
    /// A connection that has not said anything yet, through a door with or without a protocol of its own.
    pub fn new(server: Arc<Server>, extension: Option<Arc<dyn Extension>>) -> Arc<Self> {
        let cx = Cx { server, outbox: Arc::default(), input_ended: CancellationToken::new() };
        let state = State {
            phase: Phase::New,
            in_flight: BTreeMap::new(),
            requests: 0,
            listening: None,
            exit: None,
        };
        Arc::new(Self {
            cx,
            state: Mutex::new(state),
            lanes: Lanes::default(),
            answered: Notify::new(),
            client_gone: CancellationToken::new(),
            extension,
        })
    }

    /// What is to be sent to the client.
    pub fn outbox(&self) -> &Arc<Outbox> {
        &self.cx.outbox
    }

    /// How the client ended the connection, once it has.
    pub fn exit(&self) -> Option<Exit> {
        self.lock().exit
    }

    /// How a client that ended its input without `exit` ended the connection.
    pub fn end_of_input(&self) -> Exit {
        if self.lock().phase == Phase::ShutDown { Exit::Clean } else { Exit::Abrupt }
    }

    /// Takes one frame. Returns when the next one may be read: at once, unless the client leaves too many
    /// answers unread.
    pub async fn receive(self: &Arc<Self>, bytes: &[u8]) {
        match frame::read(bytes) {
            Ok(Incoming::Request { id, method, params }) => self.request(id, &method, params).await,
            Ok(Incoming::Notification { method, params }) => {
                self.notification(&method, params).await;
            }
            Ok(Incoming::Response { id, is_error }) => {
                if let (Some(RequestId::Text(id)), Some(extension)) = (id, &self.extension) {
                    extension.response(&id, is_error);
                }
            }
            Err(Refused { id, error }) => self.respond(id.as_ref(), &Err(error)),
        }
        self.cx.outbox.room(OUTBOX_BYTES).await;
    }

    /// Answers a frame that was too large to be read.
    pub fn refuse_large_frame(&self) {
        let message = format!("the frame is larger than {MAX_FRAME_BYTES} bytes; it was skipped");
        self.respond(None, &Err(RpcError::new(ErrorCode::Parse, message)));
    }

    /// The client will say nothing more: waits until everything it asked is answered.
    pub async fn drain(&self) {
        self.cx.input_ended.cancel();
        loop {
            let answered = self.answered.notified();
            tokio::pin!(answered);
            answered.as_mut().enable();
            if self.lock().in_flight.is_empty() {
                return;
            }
            answered.await;
        }
    }

    /// Fires when the client's process, which it named in `initialize`, has ended.
    pub fn client_gone(&self) -> &CancellationToken {
        &self.client_gone
    }

    /// Ends every session of the process: running turns are aborted, everything is on disk, but for what the error
    /// says.
    pub async fn end_sessions(&self) -> Result<(), Unwritten> {
        self.cx.server.runtime.close().await
    }

    /// Ends the connection: what waits is still handed out by the outbox, nothing is added.
    pub fn close(&self) {
        self.lock().listening = None;
        self.cx.outbox.close();
    }

    async fn request(self: &Arc<Self>, id: RequestId, method: &str, params: Option<Box<RawValue>>) {
        let phase = self.lock().phase;
        let request = Request::decode(method, params.as_deref());
        match (phase, request) {
            (Phase::New, Ok(Request::Initialize(decoded))) => {
                let outcome = self.initialize(&decoded, params).await;
                self.respond(Some(&id), &outcome.and_then(raw));
            }
            (Phase::New, Err(DecodeError::InvalidParams(error))) if method == "initialize" => {
                self.respond(Some(&id), &Err(RpcError::invalid_params(error)));
            }
            (Phase::New, _) => {
                self.refuse(&id, ErrorCode::NotInitialized, "`initialize` must come first");
            }
            (Phase::ShutDown, _) => {
                self.refuse(
                    &id,
                    ErrorCode::InvalidRequest,
                    "the connection is shut down; only `exit` may follow",
                );
            }
            (Phase::Running, Ok(Request::Initialize(_))) => {
                self.refuse(
                    &id,
                    ErrorCode::InvalidRequest,
                    "the connection is initialized already",
                );
            }
            (Phase::Running, Ok(Request::Shutdown(_))) => self.shut_down(&id).await,
            (Phase::Running, Ok(request)) => {
                let place = self.lanes.enter(request.ordered_by());
                self.start(id, Box::pin(dispatch(self.cx.clone(), request, place)));
            }
            (Phase::Running, Err(error)) => {
                let added = match (&error, &self.extension) {
                    (DecodeError::UnknownMethod, Some(extension)) => {
                        extension.request(method, params)
                    }
                    (_, _) => None,
                };
                match added {
                    Some(handled) => {
                        self.start(id, Box::pin(async { handled.await.map(Reply::from) }));
                    }
                    None => self.respond(Some(&id), &Err(decode_error(method, error))),
                }
            }
        }
    }

    async fn initialize(
        &self,
        params: &InitializeParams,
        raw_params: Option<Box<RawValue>>,
    ) -> Result<InitializeResult, RpcError> {
        let mut result = lifecycle::initialize(&self.cx.server, params)?;
        if let Some(extension) = &self.extension {
            result.capabilities.lsp = extension.initialize(raw_params, self.outbox()).await?;
        }
        client_process::watch(params.process_id, &self.client_gone);
        let listener = Arc::clone(self.outbox()) as Arc<dyn Listener>;
        let listening = self.cx.server.runtime.notices().listen(listener);
        let mut state = self.lock();
        state.phase = Phase::Running;
        state.listening = Some(listening);
        Ok(result)
    }

    /// Runs a request's handler. One that is answered without waiting is answered here and now.
    fn start(self: &Arc<Self>, id: RequestId, handled: BoxFuture<Result<Reply, RpcError>>) {
        let stop = Arc::new(Stop { token: CancellationToken::new(), error: Mutex::default() });
        let number = {
            let mut state = self.lock();
            if state.in_flight.len() >= REQUESTS {
                drop(state);
                let message = format!("{REQUESTS} requests are under way; wait for some of them");
                self.respond(Some(&id), &Err(RpcError::domain(ErrorKind::Overloaded, message)));
                return;
            }
            state.requests += 1;
            let number = state.requests;
            state.in_flight.insert(number, (id.clone(), Arc::clone(&stop)));
            number
        };
        let connection = Arc::clone(self);
        let mut answering = Box::pin(async move {
            let handled = AssertUnwindSafe(handled).catch_unwind();
            let outcome = tokio::select! {
                biased;
                () = stop.token.cancelled() => Err(stop_error(&stop)),
                handled = handled => handled.unwrap_or_else(|_| Err(broken())),
            };
            connection.finish(number, &id, outcome);
        });
        let mut now = std::task::Context::from_waker(std::task::Waker::noop());
        if answering.as_mut().poll(&mut now) == Poll::Pending {
            tokio::spawn(answering);
        }
    }

    fn finish(&self, number: u64, id: &RequestId, outcome: Result<Reply, RpcError>) {
        match outcome {
            Ok(Reply { result, then: Some(Then::Subscribe(subscription, children)) }) => {
                let answer = frame::response(Some(id), &Ok(result));
                let server = &self.cx.server;
                self.cx.outbox.subscribe(answer, *subscription, server);
                if let Some(children) = children {
                    let outbox = Arc::downgrade(self.outbox());
                    tokio::spawn(children.run(outbox, Arc::downgrade(server)));
                }
            }
            Ok(Reply { result, then: Some(Then::Tell(changed)) }) => {
                self.respond(Some(id), &Ok(result));
                for changed in changed {
                    let notice = Notification::SessionChanged(changed);
                    self.cx.server.runtime.notices().notice(&notice);
                }
            }
            Ok(Reply { result, then: None }) => self.respond(Some(id), &Ok(result)),
            Err(error) => self.respond(Some(id), &Err(error)),
        }
        self.lock().in_flight.remove(&number);
        self.answered.notify_waiters();
    }

    async fn notification(&self, method: &str, params: Option<Box<RawValue>>) {
        match method {
            "exit" => {
                let mut state = self.lock();
                let clean = state.phase == Phase::ShutDown;
                state.exit = Some(if clean { Exit::Clean } else { Exit::Abrupt });
            }
            "$/cancelRequest" => {
                let cancel = params
                    .as_deref()
                    .and_then(|params| serde_json::from_str::<CancelRequest>(params.get()).ok());
                let Some(id) = cancel.and_then(|cancel| RequestId::read(&cancel.id)) else {
                    return;
                };
                let found = self.lock().in_flight.values().find(|(other, _)| *other == id).cloned();
                if let Some((_, stop)) = found {
                    stop.with(RpcError::new(ErrorCode::Cancelled, "the request was cancelled"));
                }
            }
            _ => match &self.extension {
                Some(extension) if self.lock().phase == Phase::Running => {
                    extension.notification(method, params).await;
                }
                Some(_) | None => tracing::debug!(method, "notification passed over"),
            },
        }
    }

    /// Answers what is under way, ends running turns, then answers `shutdown` itself.
    async fn shut_down(&self, id: &RequestId) {
        let in_flight = {
            let mut state = self.lock();
            state.phase = Phase::ShutDown;
            state.in_flight.clone()
        };
        for (_, stop) in in_flight.into_values() {
            stop.with(RpcError::domain(ErrorKind::ShuttingDown, "the server is shutting down"));
        }
        self.drain().await;
        let ended = match self.end_sessions().await {
            Ok(()) => raw(NoParams {}),
            Err(unwritten) => Err(errors::unwritten(&unwritten)),
        };
        self.respond(Some(id), &ended);
    }

    fn refuse(&self, id: &RequestId, code: ErrorCode, message: &str) {
        self.respond(Some(id), &Err(RpcError::new(code, message)));
    }

    fn respond(&self, id: Option<&RequestId>, outcome: &Result<Box<RawValue>, RpcError>) {
        self.cx.outbox.respond(frame::response(id, outcome));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn raw(result: impl serde::Serialize) -> Result<Box<RawValue>, RpcError> {
    to_raw_value(&result).map_err(|error| RpcError::new(ErrorCode::Internal, error.to_string()))
}

fn decode_error(method: &str, error: DecodeError) -> RpcError {
    match error {
        DecodeError::UnknownMethod => {
            RpcError::new(ErrorCode::MethodNotFound, format!("there is no method `{method}`"))
        }
        DecodeError::InvalidParams(error) => RpcError::invalid_params(error),
        DecodeError::Malformed(error) => RpcError::new(ErrorCode::Parse, error),
    }
}

fn stop_error(stop: &Stop) -> RpcError {
    let error = stop.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
    error.unwrap_or_else(|| RpcError::new(ErrorCode::Cancelled, "the request was cancelled"))
}

fn broken() -> RpcError {
    RpcError::new(
        ErrorCode::Internal,
        "the request failed unexpectedly; the server's log has the details",
    )
}
