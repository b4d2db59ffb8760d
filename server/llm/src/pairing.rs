//! What every provider demands of a conversation: each tool call is answered, at once and only once.

use std::collections::BTreeSet;
use std::sync::Arc;

use dsh_protocol::content::ContentBlock;
use dsh_protocol::ids::CallId;
use dsh_protocol::message::{Message, Role};

/// Why a provider would refuse a conversation, if it would.
///
/// After an answer with tool calls come exactly their results, before anything else; no result stands alone;
/// no id repeats inside one answer.
pub fn check(messages: &[Arc<Message>]) -> Result<(), String> {
    let mut open: BTreeSet<CallId> = BTreeSet::new();
    for message in messages {
        match message.role {
            Role::Tool => {
                for id in results(message) {
                    if !open.remove(&id) {
                        return Err(format!("the result of `{id}` has no call before it"));
                    }
                }
            }
            Role::User | Role::Assistant => {
                if let Some(id) = open.first() {
                    return Err(format!("the call `{id}` has no result"));
                }
                for id in calls(message) {
                    if !open.insert(id.clone()) {
                        return Err(format!("the call id `{id}` occurs twice in one answer"));
                    }
                }
            }
        }
    }
    match open.first() {
        Some(id) => Err(format!("the call `{id}` has no result")),
        None => Ok(()),
    }
}

fn calls(message: &Message) -> Vec<CallId> {
    ids(message, |block| match block {
        ContentBlock::ToolCall { id, .. } => Some(id.clone()),
        ContentBlock::Text { .. }
        | ContentBlock::Reasoning { .. }
        | ContentBlock::Image { .. }
        | ContentBlock::Resource { .. }
        | ContentBlock::ToolResult { .. } => None,
    })
}

fn results(message: &Message) -> Vec<CallId> {
    ids(message, |block| match block {
        ContentBlock::ToolResult { tool_call_id, .. } => Some(tool_call_id.clone()),
        ContentBlock::Text { .. }
        | ContentBlock::Reasoning { .. }
        | ContentBlock::Image { .. }
        | ContentBlock::Resource { .. }
        | ContentBlock::ToolCall { .. } => None,
    })
}

fn ids(message: &Message, of: impl Fn(&ContentBlock) -> Option<CallId>) -> Vec<CallId> {
    message.content.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use dsh_protocol::message::Source;

    use super::*;

    fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
        Arc::new(Message {
            id: "m".into(),
            role,
            content,
            source: Source::User,
            client_message_id: None,
        })
    }

    fn calls(ids: &[&str]) -> Arc<Message> {
        let call = |id: &&str| ContentBlock::ToolCall {
            id: CallId::from(*id),
            name: "read".to_owned(),
            arguments: String::new(),
        };
        message(Role::Assistant, ids.iter().map(call).collect())
    }

    fn result(id: &str) -> Arc<Message> {
        let block = ContentBlock::ToolResult {
            tool_call_id: id.into(),
            content: Vec::new(),
            is_error: None,
        };
        message(Role::Tool, vec![block])
    }

    fn says(role: Role) -> Arc<Message> {
        message(role, vec![ContentBlock::text("text")])
    }

    #[test]
    fn calls_and_results_must_pair() {
        let user = || says(Role::User);
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[user(), calls(&["a", "b"]), result("b"), result("a"), user()]), Ok(()));
        for (bad, why) in [
            (vec![user(), calls(&["a"])], "no result at the end"),
            (vec![user(), calls(&["a"]), user(), result("a")], "something before the result"),
            (
                vec![user(), calls(&["a", "b"]), result("a"), says(Role::Assistant)],
                "one result too few",
            ),
            (vec![user(), result("a")], "a result without a call"),
            (vec![calls(&["a"]), result("a"), result("a")], "a result twice"),
            (vec![calls(&["a", "a"]), result("a")], "an id twice"),
        ] {
            assert!(check(&bad).is_err(), "{why}");
        }
    }
}
