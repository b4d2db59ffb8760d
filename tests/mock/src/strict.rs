//! What real servers refuse, so that a history that they would not take fails a test.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::answer::Answer;

/// The rules of a strict server. All of them refuse a call without its result, a result without its call, an id
/// that occurs twice in one message, an unknown role, content that is `null` and arguments that are no object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Also an answer with tool calls that lacks its `reasoning_content`.
    pub reasoning_after_calls: bool,
}

impl Rules {
    /// Why a body would be refused, if it would.
    pub fn check(&self, body: &[u8]) -> Result<(), String> {
        let body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if body["model"].as_str().is_none_or(str::is_empty) {
            return Err("model is missing".to_owned());
        }
        let messages = body["messages"].as_array().ok_or("messages is no list")?;
        if messages.is_empty() {
            return Err("messages is empty".to_owned());
        }
        let mut open = BTreeSet::new();
        for (at, message) in messages.iter().enumerate() {
            self.message(at, message, &mut open).map_err(|why| format!("messages[{at}]: {why}"))?;
        }
        if open.is_empty() { Ok(()) } else { Err(format!("no tool message answers {open:?}")) }
    }

    fn message(
        self,
        at: usize,
        message: &Value,
        open: &mut BTreeSet<String>,
    ) -> Result<(), String> {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            return Err(format!("no tool message answers {open:?}"));
        }
        if !(message["content"].is_string() || role == "user" && message["content"].is_array()) {
            return Err("content is not a string".to_owned());
        }
        match role {
            "system" if at == 0 => Ok(()),
            "system" => Err("the system message is not the first".to_owned()),
            "user" => Ok(()),
            "assistant" => self.calls(message, open),
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let known = open.remove(id);
                if known { Ok(()) } else { Err(format!("`{id}` answers no call")) }
            }
            other => Err(format!("unknown role `{other}`")),
        }
    }

    fn calls(self, message: &Value, open: &mut BTreeSet<String>) -> Result<(), String> {
        let Some(calls) = message.get("tool_calls") else { return Ok(()) };
        let calls = calls.as_array().filter(|calls| !calls.is_empty()).ok_or("no tool calls")?;
        for call in calls {
            let id = call["id"].as_str().filter(|id| !id.is_empty()).ok_or("a call without id")?;
            if !open.insert(id.to_owned()) {
                return Err(format!("the id `{id}` occurs twice"));
            }
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            let parsed: Result<Value, _> = serde_json::from_str(arguments);
            if !parsed.is_ok_and(|parsed| parsed.is_object()) {
                return Err(format!("the arguments of `{id}` are no JSON object"));
            }
        }
        if self.reasoning_after_calls && !message["reasoning_content"].is_string() {
            return Err("reasoning_content must be passed back".to_owned());
        }
        Ok(())
    }
}

/// The answer to a request that is refused.
pub(crate) fn refusal(problem: &str) -> Answer {
    Answer::status(400).json(&json!({
        "error": { "message": problem, "type": "invalid_request_error", "code": null }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(messages: &Value) -> Result<(), String> {
        let body = json!({ "model": "m", "messages": messages });
        Rules { reasoning_after_calls: true }.check(body.to_string().as_bytes())
    }

    fn calls(ids: &[&str], arguments: &str) -> Value {
        let call = |id: &&str| json!({ "id": id, "function": { "arguments": arguments } });
        let calls: Vec<_> = ids.iter().map(call).collect();
        json!({ "role": "assistant", "content": "", "reasoning_content": "r", "tool_calls": calls })
    }

    #[test]
    fn a_proper_conversation_is_taken_and_each_fault_is_refused() {
        let user = json!({ "role": "user", "content": "u" });
        let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "r" });
        let mut thoughtless = calls(&["a"], "{}");
        thoughtless.as_object_mut().unwrap().remove("reasoning_content");
        let proper = json!([user, calls(&["a", "b"], "{}"), result("b"), result("a"), user]);
        assert_eq!(check(&proper), Ok(()));
        for (bad, why) in [
            (json!([]), "no message"),
            (json!([user, calls(&["a"], "{}"), user]), "no result"),
            (json!([user, calls(&["a"], "{}")]), "no result at the end"),
            (json!([user, result("a")]), "no call"),
            (json!([user, calls(&["a", "a"], "{}"), result("a")]), "an id twice"),
            (json!([user, calls(&["a"], "{\"x"), result("a")]), "broken arguments"),
            (json!([user, thoughtless, result("a")]), "no reasoning"),
            (json!([user, { "role": "assistant", "content": null }]), "null content"),
            (json!([{ "role": "developer2", "content": "x" }]), "a role"),
        ] {
            assert!(check(&bad).is_err(), "{why}");
        }
    }
}
