//! Reads and writes JSON-RPC frames.

use std::fmt;

use dsh_protocol::error::{ErrorCode, RpcError};
use dsh_protocol::notifications::Notification;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Number, Value, json};

/// A request's id, answered with exactly its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub(crate) enum RequestId {
    Integer(Number),
    Text(String),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl RequestId {
    /// Strings and integers are ids; `null`, fractions and structures are not.
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        match serde_json::from_str(raw.get()).ok()? {
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                Some(Self::Integer(number))
            }
            Value::String(text) => Some(Self::Text(text)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        }
    }
}

/// What a client sent.
#[derive(Debug)]
pub(crate) enum Incoming {
    Request {
        id: RequestId,
        method: String,
        params: Option<Box<RawValue>>,
    },
    Notification {
        method: String,
        params: Option<Box<RawValue>>,
    },
    /// An answer to a request of a door's own protocol, or to nothing that was ever asked.
    Response {
        id: Option<RequestId>,
        is_error: bool,
    },
}

/// Why a frame is refused, and the id to answer with.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: RpcError,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default, deserialize_with = "present")]
    jsonrpc: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    id: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    method: Option<Box<RawValue>>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    error: Option<Box<RawValue>>,
}

/// Tells a field that is `null` from one that is absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one frame.
pub(crate) fn read(bytes: &[u8]) -> Result<Incoming, Refused> {
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(not_an_object(bytes));
    }
    let envelope: Envelope =
        serde_json::from_slice(bytes).map_err(|error| unreadable(bytes, &error))?;
    if let Some(raw) = &envelope.id
        && let Err(error) = serde_json::from_str::<Value>(raw.get())
    {
        return Err(unreadable(b"", &error));
    }
    let id = envelope.id.as_deref().map(|raw| RequestId::read(raw).ok_or(()));
    let refuse = |message: &str| Refused {
        id: id.clone().and_then(Result::ok),
        error: RpcError::new(ErrorCode::InvalidRequest, message),
    };
    let Some(method) = envelope.method else {
        return if envelope.result.is_some() || envelope.error.is_some() {
            Ok(Incoming::Response {
                id: id.and_then(Result::ok),
                is_error: envelope.error.is_some(),
            })
        } else {
            Err(refuse("a request needs a `method`"))
        };
    };
    if envelope.jsonrpc.as_deref().map(RawValue::get) != Some("\"2.0\"") {
        return Err(refuse("`jsonrpc` must be \"2.0\""));
    }
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return Err(refuse("`method` must be a string"));
    };
    let params = envelope.params.map(surrogates::mended);
    match id {
        None => Ok(Incoming::Notification { method, params }),
        Some(Ok(id)) => Ok(Incoming::Request { id, method, params }),
        Some(Err(())) => Err(refuse("`id` must be a string or an integer")),
    }
}

/// Why a frame that does not begin like a request is none.
fn not_an_object(bytes: &[u8]) -> Refused {
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        return unreadable(bytes, &error);
    }
    let message = if bytes.trim_ascii_start().starts_with(b"[") {
        "batches are not supported; send one frame for each request"
    } else {
        "a request is a JSON object"
    };
    Refused { id: None, error: RpcError::new(ErrorCode::InvalidRequest, message) }
}

/// Why a frame could not be taken apart: not JSON, or a request with a field twice.
fn unreadable(bytes: &[u8], error: &serde_json::Error) -> Refused {
    if error.is_data() {
        let error = RpcError::new(ErrorCode::InvalidRequest, format!("not a request: {error}"));
        return Refused { id: None, error };
    }
    let error = RpcError::new(ErrorCode::Parse, format!("not valid JSON: {error}"));
    Refused { id: recover_id(bytes), error }
}

/// The id of a frame that is not valid JSON, where it stands in front of what is wrong: a client that waits
/// for an answer then gets one.
fn recover_id(bytes: &[u8]) -> Option<RequestId> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.trim_start().strip_prefix('{')?;
    // Fields are read one by one, so that an `"id"` inside some text is never taken for the frame's own.
    loop {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let key: String = serde_json::from_str(values.next()?.ok()?.get()).ok()?;
        rest = rest.get(values.byte_offset()..)?.trim_start().strip_prefix(':')?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let value = values.next()?.ok()?;
        if key == "id" {
            return RequestId::read(value);
        }
        rest = rest.get(values.byte_offset()..)?.trim_start().strip_prefix(',')?;
    }
}

#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RequestId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RpcError>,
}

/// The frame that answers a request, without a line end.
pub(crate) fn response(
    id: Option<&RequestId>,
    outcome: &Result<Box<RawValue>, RpcError>,
) -> Vec<u8> {
    let response = match outcome {
        Ok(result) => Response { jsonrpc: "2.0", id, result: Some(result), error: None },
        Err(error) => Response { jsonrpc: "2.0", id, result: None, error: Some(error) },
    };
    serde_json::to_vec(&response).unwrap_or_default()
}

#[derive(Serialize)]
struct NotificationFrame<'a> {
    jsonrpc: &'static str,
    #[serde(flatten)]
    notification: &'a Notification,
}

/// The frame of a notification, without a line end.
pub(crate) fn notification(notification: &Notification) -> Vec<u8> {
    serde_json::to_vec(&NotificationFrame { jsonrpc: "2.0", notification }).unwrap_or_default()
}

/// The frame of a message of a door's own protocol: a request when it has an id. `null` params are left out.
pub(crate) fn foreign(id: Option<&str>, method: &str, params: &Value) -> Vec<u8> {
    let mut frame = json!({ "jsonrpc": "2.0", "method": method });
    if let Some(id) = id {
        frame["id"] = id.into();
    }
    if !params.is_null() {
        frame["params"] = params.clone();
    }
    frame.to_string().into_bytes()
}

mod surrogates;
#[cfg(test)]
mod tests;
