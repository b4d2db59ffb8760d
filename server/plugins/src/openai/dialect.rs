//! How providers of one and the same API differ, as data.
//!
//! A new provider is an entry of the table. The code that reads these fields knows no provider by name.

/// The differences of one provider.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// The name that rows use.
    pub name: &'static str,
    /// Where it is asked, unless a row or the variable says otherwise.
    pub base_url: Option<&'static str>,
    /// The environment variable that moves it.
    pub base_url_variable: Option<&'static str>,
    /// The path of a base address that has none.
    pub path: &'static str,
    /// Whether a key that is not set is simply not sent.
    pub key_optional: bool,
    /// Whether the server says itself which models it has, as those on one's own machine do.
    pub lists_models: bool,
    /// The fields of a delta that hold reasoning; the first that is there counts.
    pub reasoning: &'static [&'static str],
    /// How reasoning goes back.
    pub echo: Option<Echo>,
    /// Tags around reasoning at the start of the visible text.
    pub tags: &'static [(&'static str, &'static str)],
    /// Whether `stream_options` may be sent, without which some report no usage.
    pub stream_options: bool,
    /// The field that limits the answer.
    pub max_tokens: &'static str,
    /// The efforts that it knows, and the members of the body that ask for each.
    pub efforts: &'static [(&'static str, &'static str)],
    /// The effort when none is asked for; `None`: nothing is said.
    pub default_effort: Option<&'static str>,
    /// Markup of tool calls that the server should have turned into calls.
    pub markup: &'static [Markup],
}

/// How reasoning goes back to the provider that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Echo {
    /// The field of an assistant message.
    pub field: &'static str,
    /// Whether an answer with tool calls must have the field, if need be empty.
    pub required_with_calls: bool,
}

/// Markup of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    /// A token that no other text has.
    Anywhere(&'static str),
    /// A tag that a text may well speak of: a leak only at the start of a line.
    LineStart(&'static str),
}

/// The dialect of a name.
pub(super) fn named(name: &str) -> Option<&'static Dialect> {
    ALL.iter().find(|dialect| dialect.name == name)
}

/// The names, for a message.
pub(super) fn names() -> String {
    ALL.iter().map(|dialect| dialect.name).collect::<Vec<_>>().join(", ")
}

const THINK: (&str, &str) = ("<think>", "</think>");
const THINKING: (&str, &str) = ("<thinking>", "</thinking>");

/// Tags of the chat templates that local servers render.
const TEMPLATE_MARKUP: &[Markup] = &[
    Markup::LineStart("<tool_call>"),
    Markup::LineStart("<|tool_call|>"),
    Markup::LineStart("<|python_tag|>"),
    Markup::LineStart("[TOOL_CALLS]"),
    Markup::Anywhere("<｜tool▁calls▁begin｜>"),
];

/// A template's own switch, which local servers hand through.
const TEMPLATE_EFFORTS: &[(&str, &str)] = &[
    ("off", r#"{"chat_template_kwargs":{"enable_thinking":false}}"#),
    ("on", r#"{"chat_template_kwargs":{"enable_thinking":true}}"#),
];

/// Every dialect, by name.
pub(super) const ALL: &[Dialect] = &[
    Dialect {
        name: "deepseek",
        base_url: Some("https://api.deepseek.com"),
        base_url_variable: Some("DEEPSEEK_BASE_URL"),
        path: "",
        key_optional: false,
        lists_models: false,
        reasoning: &["reasoning_content", "reasoning"],
        echo: Some(Echo { field: "reasoning_content", required_with_calls: true }),
        tags: &[THINK],
        stream_options: true,
        max_tokens: "max_tokens",
        efforts: &[
            ("off", r#"{"thinking":{"type":"disabled"}}"#),
            ("low", r#"{"thinking":{"type":"enabled"},"reasoning_effort":"low"}"#),
            ("high", r#"{"thinking":{"type":"enabled"},"reasoning_effort":"high"}"#),
            ("max", r#"{"thinking":{"type":"enabled"},"reasoning_effort":"max"}"#),
        ],
        default_effort: Some("high"),
        markup: &[
            Markup::Anywhere("<｜tool▁calls▁begin｜>"),
            Markup::Anywhere("<｜tool▁call▁begin｜>"),
            Markup::Anywhere("<｜DSML｜"),
        ],
    },
    Dialect {
        name: "llama-cpp",
        base_url: Some("http://127.0.0.1:8080/v1"),
        base_url_variable: Some("DSH_LS_LOCAL_URL"),
        path: "/v1",
        key_optional: true,
        lists_models: true,
        reasoning: &["reasoning_content", "reasoning"],
        echo: Some(Echo { field: "reasoning_content", required_with_calls: false }),
        tags: &[THINK, THINKING],
        stream_options: true,
        max_tokens: "max_tokens",
        efforts: TEMPLATE_EFFORTS,
        default_effort: None,
        markup: TEMPLATE_MARKUP,
    },
    Dialect {
        name: "ollama",
        base_url: Some("http://127.0.0.1:11434/v1"),
        base_url_variable: Some("DSH_LS_LOCAL_URL"),
        path: "/v1",
        key_optional: true,
        lists_models: true,
        reasoning: &["reasoning", "reasoning_content"],
        echo: Some(Echo { field: "reasoning", required_with_calls: false }),
        tags: &[THINK, THINKING],
        stream_options: true,
        max_tokens: "max_tokens",
        efforts: &[
            ("off", r#"{"reasoning_effort":"none"}"#),
            ("low", r#"{"reasoning_effort":"low"}"#),
            ("medium", r#"{"reasoning_effort":"medium"}"#),
            ("high", r#"{"reasoning_effort":"high"}"#),
        ],
        default_effort: None,
        markup: TEMPLATE_MARKUP,
    },
    Dialect {
        name: "openai",
        base_url: Some("https://api.openai.com/v1"),
        base_url_variable: Some("OPENAI_BASE_URL"),
        path: "/v1",
        key_optional: false,
        lists_models: false,
        reasoning: &["reasoning_content", "reasoning"],
        echo: None,
        tags: &[THINK],
        stream_options: true,
        max_tokens: "max_completion_tokens",
        efforts: &[
            ("off", r#"{"reasoning_effort":"none"}"#),
            ("minimal", r#"{"reasoning_effort":"minimal"}"#),
            ("low", r#"{"reasoning_effort":"low"}"#),
            ("medium", r#"{"reasoning_effort":"medium"}"#),
            ("high", r#"{"reasoning_effort":"high"}"#),
            ("xhigh", r#"{"reasoning_effort":"xhigh"}"#),
        ],
        default_effort: None,
        markup: &[],
    },
    Dialect {
        name: "openrouter",
        base_url: Some("https://openrouter.ai/api/v1"),
        base_url_variable: None,
        path: "/api/v1",
        key_optional: false,
        lists_models: false,
        reasoning: &["reasoning", "reasoning_content"],
        echo: Some(Echo { field: "reasoning", required_with_calls: false }),
        tags: &[THINK],
        stream_options: true,
        max_tokens: "max_tokens",
        efforts: &[
            ("off", r#"{"reasoning":{"enabled":false}}"#),
            ("low", r#"{"reasoning":{"effort":"low"}}"#),
            ("medium", r#"{"reasoning":{"effort":"medium"}}"#),
            ("high", r#"{"reasoning":{"effort":"high"}}"#),
        ],
        default_effort: None,
        markup: TEMPLATE_MARKUP,
    },
    Dialect {
        name: "vllm",
        base_url: Some("http://127.0.0.1:8000/v1"),
        base_url_variable: Some("DSH_LS_LOCAL_URL"),
        path: "/v1",
        key_optional: true,
        lists_models: true,
        reasoning: &["reasoning", "reasoning_content"],
        echo: Some(Echo { field: "reasoning", required_with_calls: false }),
        tags: &[THINK, THINKING],
        stream_options: true,
        max_tokens: "max_tokens",
        efforts: TEMPLATE_EFFORTS,
        default_effort: None,
        markup: TEMPLATE_MARKUP,
    },
];

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_json_is_json() {
        assert!(ALL.is_sorted_by_key(|dialect| dialect.name));
        for dialect in ALL {
            for (effort, members) in dialect.efforts {
                let members: Result<Map<String, Value>, _> = serde_json::from_str(members);
                assert!(
                    members.is_ok_and(|members| !members.is_empty()),
                    "{} {effort}",
                    dialect.name
                );
            }
            if let Some(default) = dialect.default_effort {
                assert!(dialect.efforts.iter().any(|(effort, _)| *effort == default));
            }
        }
    }
}
