//! What a provider's refusal means: statuses, error objects and pages of proxies, as codes.

use dsh_llm::adapter::failure;
use dsh_protocol::content::ModelFailure;
use serde_json::Value;

/// The most of a provider's text that is kept while a key may still be in it.
const MAX_TEXT: usize = 4_000;

/// The most of a failure's text that is passed on.
const MAX_MESSAGE: usize = 400;

/// What is said when the conversation is too long.
const CONTEXT: &[&str] = &[
    "context_length_exceeded",
    "context length",
    "context size",
    "context window",
    "exceed_context_size",
    "input is too long",
    "maximum prompt length",
    "prompt is too long",
    "reduce the length",
    "too many tokens",
];

/// What is said when there is no money, as opposed to too much haste.
const QUOTA: &[&str] = &[
    "billing",
    "credit balance",
    "current quota",
    "insufficient balance",
    "insufficient credit",
    "insufficient_quota",
    "out of credits",
];

/// Words for errors that have no status, and the status that they would have.
const WORDS: &[(&str, u16)] = &[
    ("authentication", 401),
    ("invalid_api_key", 401),
    ("permission", 403),
    ("insufficient_quota", 402),
    ("rate_limit", 429),
    ("rate limit", 429),
    ("too many requests", 429),
    ("invalid_request", 400),
    ("context_length", 400),
    ("badrequest", 400),
    ("overloaded", 529),
    ("unavailable", 503),
];

/// The failure that a status and a body mean, and for how long the provider wants to be left alone.
pub(super) fn of_status(
    provider: &str,
    status: u16,
    body: &[u8],
    retry_after_ms: Option<u64>,
) -> ModelFailure {
    let text = String::from_utf8_lossy(body);
    let said =
        serde_json::from_str::<Value>(&text).map_or_else(|_| plain(&text), |body| said(&body));
    let lower = text.to_lowercase();
    let code = code(status, &lower);
    let hint = hint(&code);
    let colon = if said.is_empty() { "" } else { ": " };
    // Before what was said: that may be long, and is what is cut off then.
    let wait = retry_after_ms
        .filter(|ms| *ms > 0)
        .map_or_else(String::new, |ms| format!(", try again in {} s", ms.div_ceil(1000)));
    let mut failure =
        failure(&code, format!("{provider} answered {status}{hint}{wait}{colon}{said}"));
    failure.status = Some(status).filter(|status| (100..600).contains(status));
    failure.provider_retry_after_ms = retry_after_ms;
    failure
}

/// The failure that an error object inside a stream means. It counts as an error of the server unless it says
/// more, since the request itself had been accepted.
pub(super) fn of_event(provider: &str, data: &Value) -> ModelFailure {
    let error = data.get("error").unwrap_or(data);
    let words = error.to_string().to_lowercase();
    let status = status_field(error, "code").or_else(|| status_field(error, "status"));
    let named = || WORDS.iter().find(|(word, _)| words.contains(word)).map(|(_, status)| *status);
    let code = code(status.or_else(named).unwrap_or(500), &words);
    let said = said(data);
    let said = if said.is_empty() { "no details" } else { &said };
    failure(&code, format!("{provider} broke off{}: {said}", hint(&code)))
}

/// The failure of a body that is no answer at all, such as a proxy's page.
pub(super) fn of_page(provider: &str, body: &[u8]) -> ModelFailure {
    let said = plain(&String::from_utf8_lossy(body));
    failure("MALFORMED_RESPONSE", format!("{provider} sent no model's answer: {said}"))
}

fn status_field(error: &Value, name: &str) -> Option<u16> {
    let field = error.get(name)?;
    let number = field.as_u64().or_else(|| field.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

fn code(status: u16, words: &str) -> String {
    let says = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let code = match status {
        401 | 403 => "AUTH",
        402 => "QUOTA",
        400 | 413 | 422 if says(CONTEXT) => "CONTEXT_WINDOW_EXCEEDED",
        400 | 429 if says(QUOTA) => "QUOTA",
        400 | 413 | 422 => "INVALID_REQUEST",
        429 => "RATE_LIMIT",
        500.. => "SERVER",
        other => return format!("HTTP_{other}"),
    };
    code.to_owned()
}

fn hint(code: &str) -> &'static str {
    match code {
        "AUTH" => " (the key was refused)",
        "QUOTA" => " (the account's balance or quota is used up)",
        "CONTEXT_WINDOW_EXCEEDED" => " (the conversation is too long for the model)",
        "RATE_LIMIT" => " (too many requests)",
        "HTTP_404" => " (no such model or address)",
        _ => "",
    }
}

/// What an error body says for a person, in any of the usual shapes.
fn said(body: &Value) -> String {
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    let fields = [error.get("message"), error.get("detail"), error.get("error_msg"), Some(error)];
    let text = fields.into_iter().flatten().find_map(Value::as_str);
    text.map_or_else(
        || if error.is_object() { plain(&error.to_string()) } else { String::new() },
        plain,
    )
}

/// A short plain excerpt: without tags, scripts and styles, without control characters, on one line.
fn plain(text: &str) -> String {
    let mut words = String::new();
    let mut rest = text;
    while words.chars().count() <= MAX_TEXT {
        let (before, after) = rest.split_once('<').unwrap_or((rest, ""));
        for word in
            before.split(|character: char| character.is_whitespace() || character.is_control())
        {
            if !word.is_empty() {
                let space = if words.is_empty() { "" } else { " " };
                words.extend([space, word]);
            }
        }
        if after.is_empty() {
            break;
        }
        rest = behind_tag(after);
    }
    shortened(&words, MAX_TEXT)
}

/// A failure's text as it is passed on. A key must be taken out before: the half of one could not be found.
pub(super) fn short(message: &str) -> String {
    shortened(message, MAX_MESSAGE)
}

fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What follows a tag of which the `<` is gone. A script's or a style's content goes with it.
fn behind_tag(text: &str) -> &str {
    let is =
        |name: &str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let closing = ["script", "style"].into_iter().find(|name| is(name)).map(|name| {
        let ends = |at: &usize| {
            let end = text.get(at + 2..at + 2 + name.len());
            end.is_some_and(|end| end.eq_ignore_ascii_case(name))
        };
        text.match_indices("</").map(|(at, _)| at).find(ends).unwrap_or(text.len())
    });
    text[closing.unwrap_or(0)..].split_once('>').map_or("", |(_, after)| after)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_status_has_its_code() {
        for (status, body, code) in [
            (400, r#"{"error":{"message":"bad"}}"#, "INVALID_REQUEST"),
            (400, "maximum context length is 8192 tokens", "CONTEXT_WINDOW_EXCEEDED"),
            (400, "Your credit balance is too low", "QUOTA"),
            (401, "", "AUTH"),
            (402, r#"{"error":{"message":"Insufficient Balance"}}"#, "QUOTA"),
            (403, "", "AUTH"),
            (404, "", "HTTP_404"),
            (408, "", "HTTP_408"),
            (302, "", "HTTP_302"),
            (413, "", "INVALID_REQUEST"),
            (413, r#"{"error":{"code":"context_length_exceeded"}}"#, "CONTEXT_WINDOW_EXCEEDED"),
            (422, "", "INVALID_REQUEST"),
            (429, "", "RATE_LIMIT"),
            (429, r#"{"error":{"code":"insufficient_quota"}}"#, "QUOTA"),
            (500, "", "SERVER"),
            (502, "<html>", "SERVER"),
            (503, "", "SERVER"),
            (529, "", "SERVER"),
        ] {
            let failure = of_status("p", status, body.as_bytes(), None);
            assert_eq!((failure.code.as_str(), failure.status), (code, Some(status)), "{body}");
        }
    }

    #[test]
    fn the_text_is_what_the_provider_said() {
        for (body, said) in [
            (r#"{"error":{"message":"no such\nmodel","type":"x"}}"#, ": no such model"),
            (r#"{"error":"out of order"}"#, ": out of order"),
            (r#"{"message":"gone"}"#, ": gone"),
            (r#"{"detail":"not here"}"#, ": not here"),
            (r#"[{"error":{"message":"in a list"}}]"#, ": in a list"),
            (r#"{"error":{"type":"x"}}"#, r#": {"type":"x"}"#),
            ("null", ""),
            ("plain", ": plain"),
            ("", ""),
        ] {
            let failure = of_status("p", 418, body.as_bytes(), None);
            assert_eq!(failure.message, format!("p answered 418{said}"), "{body}");
        }
        assert!(of_status("p", 402, b"", None).message.contains("balance"));
    }

    #[test]
    fn of_a_page_remains_a_short_plain_excerpt() {
        let page = format!(
            "<html><head><title>502 Bad  Gateway</title><style>a{{}}</style><SCRIPT>x<1</SCRIPT></head>\
             <body>\n<h1>Oh</h1>{}</body>",
            "<p>word</p>".repeat(2_000)
        );
        let failure = of_page("p", page.as_bytes());
        assert!(failure.message.contains(": 502 Bad Gateway Oh word word"), "{}", failure.message);
        assert!(!failure.message.contains(['<', '>']));
        assert_eq!(short(&failure.message).chars().count(), MAX_MESSAGE + 1);
    }

    #[test]
    fn an_error_inside_a_stream_is_read_by_its_code_or_its_words() {
        for (data, code) in [
            (json!({ "error": { "message": "overloaded", "code": 529 } }), "SERVER"),
            (json!({ "error": { "message": "slow down", "code": "429" } }), "RATE_LIMIT"),
            (json!({ "error": { "type": "rate_limit_exceeded" } }), "RATE_LIMIT"),
            (json!({ "error": { "code": "insufficient_quota" } }), "QUOTA"),
            (json!({ "error": { "type": "authentication_error" } }), "AUTH"),
            (json!({ "error": { "type": "invalid_request_error" } }), "INVALID_REQUEST"),
            (json!({ "error": { "code": "context_length_exceeded" } }), "CONTEXT_WINDOW_EXCEEDED"),
            (json!({ "error": "something" }), "SERVER"),
            (json!({ "message": "something" }), "SERVER"),
            (json!({ "error": { "code": 1302, "message": "?" } }), "SERVER"),
        ] {
            assert_eq!(of_event("p", &data).code, code, "{data}");
        }
    }
}
