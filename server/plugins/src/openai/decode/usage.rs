//! What a request cost, in the fields that providers have for it.

use dsh_protocol::content::Usage;
use serde_json::Value;

/// Reads a `usage` object. What is missing, negative or no number is unknown, and a cost of which input or
/// output is unknown is not told at all: 0 would be a lie.
pub(super) fn read(usage: &Value) -> Option<Usage> {
    let count = |path: &[&str]| {
        let found = path.iter().try_fold(usage, |value, key| value.get(key));
        found.and_then(number)
    };
    let (prompt, output) = (count(&["prompt_tokens"]), count(&["completion_tokens"]));
    let total = count(&["total_tokens"]);
    let rest = |known: Option<u64>| total?.checked_sub(known?);
    let input = prompt.or_else(|| rest(output))?;
    let output_tokens = output.or_else(|| rest(prompt))?;
    let cache_read_tokens = count(&["prompt_tokens_details", "cached_tokens"])
        .or_else(|| count(&["prompt_cache_hit_tokens"]))
        .map(|cached| cached.min(input));
    let cache_write_tokens = count(&["prompt_tokens_details", "cache_write_tokens"])
        .map(|written| written.min(input - cache_read_tokens.unwrap_or(0)));
    let reasoning_tokens = count(&["completion_tokens_details", "reasoning_tokens"])
        .map(|reasoning| reasoning.min(output_tokens));
    let cached = cache_read_tokens.unwrap_or(0) + cache_write_tokens.unwrap_or(0);
    Some(Usage {
        input_tokens: input - cached,
        output_tokens,
        cache_read_tokens,
        cache_write_tokens,
        reasoning_tokens,
        context_window: None,
    })
}

/// A count, also one that is written as a fraction.
fn number(value: &Value) -> Option<u64> {
    if let Some(whole) = value.as_u64() {
        return Some(whole);
    }
    let fraction = value.as_f64().filter(|number| *number >= 0.0 && *number < 1e15)?;
    format!("{fraction:.0}").parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `(input, output, cache read)`
    fn counts(usage: &Value) -> Option<(u64, u64, Option<u64>)> {
        read(usage).map(|usage| (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens))
    }

    #[test]
    fn what_is_unknown_stays_unknown() {
        for (usage, expected) in [
            (json!({ "prompt_tokens": 10, "completion_tokens": 2 }), Some((10, 2, None))),
            (json!({ "prompt_tokens": 10.0, "completion_tokens": 1.6 }), Some((10, 2, None))),
            (json!({ "prompt_tokens": 10, "total_tokens": 12 }), Some((10, 2, None))),
            (json!({ "prompt_tokens": 10, "completion_tokens": -1 }), None),
            (json!({ "prompt_tokens": "10", "completion_tokens": 1 }), None),
            (json!({ "prompt_tokens": null }), None),
            (json!({}), None),
            (json!(null), None),
        ] {
            assert_eq!(counts(&usage), expected, "{usage}");
        }
    }

    #[test]
    fn cached_tokens_have_two_names_and_are_no_input() {
        let usage = |fields: Value| {
            let mut usage = json!({ "prompt_tokens": 10, "completion_tokens": 2 });
            usage.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            counts(&usage)
        };
        let details = json!({ "cached_tokens": 4 });
        assert_eq!(usage(json!({ "prompt_tokens_details": details })), Some((6, 2, Some(4))));
        assert_eq!(usage(json!({ "prompt_cache_hit_tokens": 3 })), Some((7, 2, Some(3))));
        let both = json!({ "prompt_tokens_details": details, "prompt_cache_hit_tokens": 3 });
        assert_eq!(usage(both), Some((6, 2, Some(4))));
        assert_eq!(usage(json!({ "prompt_cache_hit_tokens": 99 })), Some((0, 2, Some(10))));
        assert_eq!(usage(json!({ "prompt_cache_hit_tokens": -1 })), Some((10, 2, None)));
        assert_eq!(usage(json!({ "prompt_tokens_details": null })), Some((10, 2, None)));
    }
}
