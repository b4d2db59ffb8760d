//! Compares a value with the part of JSON Schema that output contracts are written in.

use serde_json::{Map, Value};

/// The most problems that are told: a model corrects them a few at a time.
const MOST: usize = 8;

/// Everything that is wrong with a value, with the place of each: `items[0].kind`.
pub(super) fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(schema, value, "", &mut found);
    found.truncate(MOST);
    found
}

fn compare(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Value::Object(rules) = schema else { return };
    if let Some(wanted) = rules.get("type").and_then(Value::as_str)
        && !is_a(wanted, value)
    {
        found.push(format!("{} must be of type {wanted}", place(at)));
        return;
    }
    if let Some(only) = rules.get("const")
        && only != value
    {
        found.push(format!("{} must be {only}", place(at)));
    }
    if let Some(Value::Array(all)) = rules.get("enum")
        && !all.contains(value)
    {
        let all: Vec<String> = all.iter().map(Value::to_string).collect();
        found.push(format!("{} must be one of {}", place(at), all.join(", ")));
    }
    for (key, exactly_one) in [("oneOf", true), ("anyOf", false)] {
        if let Some(Value::Array(branches)) = rules.get(key) {
            alternatives(branches, exactly_one, value, at, found);
        }
    }
    if let Value::Object(fields) = value {
        object(rules, fields, at, found);
    }
    if let (Value::Array(items), Some(of_item)) = (value, rules.get("items")) {
        for (index, item) in items.iter().enumerate() {
            compare(of_item, item, &format!("{at}[{index}]"), found);
        }
    }
}

/// The problems of the branch that fits best, when none fits.
fn alternatives(
    branches: &[Value],
    exactly_one: bool,
    value: &Value,
    at: &str,
    found: &mut Vec<String>,
) {
    let tried: Vec<Vec<String>> = branches
        .iter()
        .map(|branch| {
            let mut problems = Vec::new();
            compare(branch, value, at, &mut problems);
            problems
        })
        .collect();
    let fitting = tried.iter().filter(|problems| problems.is_empty()).count();
    if fitting == 0 {
        found.extend(tried.into_iter().min_by_key(Vec::len).unwrap_or_default());
    } else if exactly_one && fitting > 1 {
        found.push(format!("{} fits more than one alternative", place(at)));
    }
}

fn object(
    rules: &Map<String, Value>,
    fields: &Map<String, Value>,
    at: &str,
    found: &mut Vec<String>,
) {
    let none = Map::new();
    let known = rules.get("properties").and_then(Value::as_object).unwrap_or(&none);
    for name in rules.get("required").and_then(Value::as_array).into_iter().flatten() {
        let Some(name) = name.as_str() else { continue };
        if !fields.contains_key(name) {
            found.push(format!("{} is missing", place(&below(at, name))));
        }
    }
    let closed = rules.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in fields {
        match known.get(name) {
            Some(schema) => compare(schema, value, &below(at, name), found),
            None if closed => found.push(format!("{} is not known", place(&below(at, name)))),
            None => {}
        }
    }
}

fn is_a(wanted: &str, value: &Value) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        // 3.0 is a whole number, however it is written.
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

fn below(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

fn place(at: &str) -> String {
    if at.is_empty() { "the answer".to_owned() } else { format!("`{at}`") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::problems;

    #[test]
    fn shapes_are_accepted_and_refused() {
        let item = |kind: &str| {
            json!({
                "type": "object", "required": ["kind"], "additionalProperties": false,
                "properties": { "kind": { "const": kind }, "count": { "type": "integer" } },
            })
        };
        let schema = json!({
            "type": "object", "required": ["role"],
            "properties": {
                "role": { "type": "string", "enum": ["a", "b"] },
                "items": { "type": "array", "items": { "oneOf": [item("x"), item("y")] } },
            },
        });
        let cases = [
            (json!({ "role": "a", "more": 1 }), ""),
            (json!({ "role": "a", "items": [{ "kind": "y", "count": 3.0 }] }), ""),
            (json!([]), "the answer must be of type object"),
            (json!({}), "`role` is missing"),
            (json!({ "role": 1 }), "`role` must be of type string"),
            (json!({ "role": "c" }), "`role` must be one of \"a\", \"b\""),
            (
                json!({ "role": "a", "items": [{ "kind": "y", "count": 1.5 }] }),
                "`items[0].count` must be of type integer",
            ),
            (
                json!({ "role": "a", "items": [{ "kind": "x" }, { "kind": "x", "more": 1 }] }),
                "`items[1].more` is not known",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(problems(&schema, &value).join("; "), expected, "{value}");
        }
    }

    #[test]
    fn two_alternatives_that_fit_are_one_too_many() {
        let schema = json!({ "oneOf": [{ "type": "number" }, { "type": "integer" }] });
        assert_eq!(problems(&schema, &json!(1)), ["the answer fits more than one alternative"]);
        let schema = json!({ "anyOf": [{ "type": "number" }, { "type": "integer" }] });
        assert!(problems(&schema, &json!(1)).is_empty());
    }
}
