//! tower-lsp's service as a part of a connection: LSP's messages go through it, everything else does not.

use std::sync::{Arc, Mutex, PoisonError};

use dsh_protocol::error::{ErrorCode, RpcError};
use dsh_rpc::Server;
use dsh_rpc::extension::{BoxFuture, Extension, Outcome};
use dsh_rpc::outbox::Outbox;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use tower::Service;
use tower_lsp::LspService;
use tower_lsp::jsonrpc::{Request, Response};

use crate::actions::Actions;
use crate::diagnostics::Diagnostics;
use crate::documents::Documents;
use crate::progress::Progress;

/// LSP around the method table.
pub(crate) struct Lsp {
    service: Mutex<LspService<Documents>>,
    progress: Arc<Progress>,
    diagnostics: Arc<Diagnostics>,
    actions: Arc<Actions>,
}

impl Lsp {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        let progress = Progress::new(Arc::clone(&server));
        // The socket is for requests of the service to the client: it makes none.
        let diagnostics = Diagnostics::new(Arc::clone(&server));
        let actions = Actions::new(Arc::clone(&server), Arc::clone(&diagnostics));
        let shown = Arc::clone(&diagnostics);
        let (service, _socket) = LspService::new(|_client| Documents::new(server, shown));
        Self { service: Mutex::new(service), progress, diagnostics, actions }
    }

    /// Hands a message to the service. Only the call is under the lock; the work is in the future.
    fn call(&self, request: Request) -> BoxFuture<Result<Option<Response>, RpcError>> {
        let called = self.service.lock().unwrap_or_else(PoisonError::into_inner).call(request);
        Box::pin(async move {
            called.await.map_err(|_| {
                RpcError::new(ErrorCode::InvalidRequest, "the connection is shut down")
            })
        })
    }
}

/// Params as a value. What cannot be read as one was refused before, or is refused by the method.
fn value(params: Option<&RawValue>) -> Value {
    params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default()
}

/// A request of LSP's with an id of its own: ours are kept by the connection.
fn request(method: &str, params: Value) -> Request {
    Request::build(method.to_owned()).id(0).params(params).finish()
}

fn outcome(response: Option<Response>) -> Result<Value, RpcError> {
    match response.map(|response| response.into_parts().1) {
        Some(Ok(result)) => Ok(result),
        Some(Err(error)) => Err(RpcError {
            code: error.code.code(),
            message: error.message.into_owned(),
            data: None,
        }),
        None => Err(RpcError::new(ErrorCode::Internal, "the request was not answered")),
    }
}

impl Extension for Lsp {
    fn initialize(
        &self,
        params: Option<Box<RawValue>>,
        outbox: &Arc<Outbox>,
    ) -> BoxFuture<Result<Map<String, Value>, RpcError>> {
        let mut params = value(params.as_deref());
        // LSP demands the field, our method table does not.
        if let Some(fields) = params
            .as_object_mut()
            .filter(|fields| fields.get("capabilities").is_none_or(Value::is_null))
        {
            fields.insert("capabilities".to_owned(), Value::Object(Map::new()));
        }
        self.progress.start(&params, outbox);
        self.diagnostics.start(&params, outbox);
        let mut own = Map::new();
        self.actions.start(&params, outbox, &mut own);
        let answered = self.call(request("initialize", params));
        Box::pin(async move {
            let Value::Object(mut result) = outcome(answered.await?)? else {
                return Ok(own);
            };
            if let Some(Value::Object(capabilities)) = result.remove("capabilities") {
                own.extend(capabilities);
            }
            Ok(own)
        })
    }

    fn notification(&self, method: &str, params: Option<Box<RawValue>>) -> BoxFuture<()> {
        let params = value(params.as_deref());
        if method == "window/workDoneProgress/cancel" {
            return self.progress.cancel(&params);
        }
        let told = self.call(Request::build(method.to_owned()).params(params).finish());
        Box::pin(async move {
            if let Err(error) = told.await {
                tracing::warn!(%error.message, "notification passed over");
            }
        })
    }

    fn response(&self, id: &str, is_error: bool) {
        self.progress.answered(id, is_error);
    }

    fn request(&self, method: &str, params: Option<Box<RawValue>>) -> Option<BoxFuture<Outcome>> {
        let params = value(params.as_deref());
        let actions = Arc::clone(&self.actions);
        let answered: BoxFuture<Result<Value, RpcError>> = match method {
            "textDocument/codeAction" => Box::pin(async move { actions.offered(&params) }),
            "textDocument/codeLens" => Box::pin(async move { actions.lenses(&params) }),
            "workspace/executeCommand" => Box::pin(actions.run(params)),
            _ => return None,
        };
        Some(Box::pin(async move {
            to_raw_value(&answered.await?)
                .map_err(|error| RpcError::new(ErrorCode::Internal, error.to_string()))
        }))
    }
}
