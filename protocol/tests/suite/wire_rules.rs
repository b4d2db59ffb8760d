//! The rules that every type of the wire keeps, walked over the committed schema.

use dsh_protocol::{PROTOCOL_VERSION, event::EventData, methods::Request, schema};
use serde_json::{Map, Value};

/// Objects whose fields keep the names that models know from other tools.
const TOOL_ARGUMENTS: [&str; 3] = ["GlobArguments", "GrepArguments", "ReadArguments"];

/// Unions without a tag, each of two forms that no reader can mistake for one another.
const UNTAGGED: [&str; 4] = ["ModelChoice", "Outcome", "SessionChanged", "SurfaceOp"];

/// Gets the name of a type, a path into it, and the schema that stands there.
type Visit<'a> = dyn FnMut(&str, &str, &Map<String, Value>) + 'a;

fn document() -> Value {
    serde_json::from_str(schema::JSON).unwrap()
}

/// Visits every schema inside every type.
fn walk(visit: &mut Visit<'_>) {
    for (name, schema) in document()["$defs"].as_object().unwrap() {
        walk_schema(name, name, schema, visit);
    }
}

fn walk_schema(name: &str, path: &str, schema: &Value, visit: &mut Visit<'_>) {
    let Some(map) = schema.as_object() else { return };
    visit(name, path, map);
    for (field, inner) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        walk_schema(name, &format!("{path}.{field}"), inner, visit);
    }
    for key in ["oneOf", "anyOf"] {
        let cases = map.get(key).and_then(Value::as_array).into_iter().flatten();
        for (number, case) in cases.enumerate() {
            walk_schema(name, &format!("{path}/{number}"), case, visit);
        }
    }
    if let Some(items) = map.get("items") {
        walk_schema(name, &format!("{path}[]"), items, visit);
    }
}

fn is_camel_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// A link of rustdoc is no documentation: it means nothing in other languages.
fn is_documented(schema: &Value) -> bool {
    schema["description"].as_str().is_some_and(|doc| !doc.trim().is_empty() && !doc.contains("[`"))
}

#[test]
fn fields_are_camel_case() {
    walk(&mut |name, path, schema| {
        if TOOL_ARGUMENTS.contains(&name) {
            return;
        }
        for field in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            assert!(is_camel_case(field.0), "{path}.{} is not camelCase", field.0);
        }
    });
}

#[test]
fn every_type_case_and_field_says_what_it_is() {
    for (name, schema) in document()["$defs"].as_object().unwrap() {
        assert!(is_documented(schema), "{name} has no description");
    }
    walk(&mut |_, path, schema| {
        for (field, inner) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let is_tag = inner.get("const").is_some();
            assert!(is_tag || is_documented(inner), "{path}.{field} has no description");
        }
        for case in schema.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
            assert!(is_documented(case), "a case of {path} has no description: {case}");
        }
    });
}

#[test]
fn every_row_of_a_table_says_what_it_is() {
    for table in ["methods", "notifications", "events"] {
        for (name, row) in document()[table].as_object().unwrap() {
            assert!(is_documented(row), "{name} has no description");
        }
    }
}

#[test]
fn unions_of_objects_are_tagged_by_type_or_kind() {
    walk(&mut |name, path, schema| {
        let Some(cases) = schema.get("oneOf").and_then(Value::as_array) else { return };
        for case in cases.iter().filter(|case| case.get("const").is_none()) {
            let tag = ["type", "kind"].iter().find(|tag| {
                case["properties"][**tag]["const"].is_string()
                    && case["required"]
                        .as_array()
                        .is_some_and(|names| names.contains(&(**tag).into()))
            });
            assert!(tag.is_some(), "a case of {path} ({name}) has no tag");
        }
    });
}

#[test]
fn only_the_listed_unions_are_untagged() {
    let mut untagged = Vec::new();
    walk(&mut |name, path, schema| {
        let cases = schema.get("anyOf").and_then(Value::as_array);
        // An optional reference is written as a choice of the reference and `null`.
        if cases.is_some_and(|cases| !cases.iter().any(|case| case["type"] == "null")) {
            assert_eq!(name, path, "an untagged union inside another type");
            untagged.push(name.to_owned());
        }
    });
    assert_eq!(untagged, UNTAGGED);
}

#[test]
fn optional_fields_take_null_and_required_ones_do_not() {
    walk(&mut |_, path, schema| {
        let required = schema.get("required").and_then(Value::as_array);
        for (field, inner) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let takes_null =
                inner["type"].as_array().is_some_and(|types| types.contains(&"null".into()))
                    || inner["anyOf"]
                        .as_array()
                        .is_some_and(|cases| cases.iter().any(|case| case["type"] == "null"));
            let is_required = required.is_some_and(|names| names.contains(&field.as_str().into()));
            assert!(!(takes_null && is_required), "{path}.{field} is required and takes null");
        }
    });
}

#[test]
fn method_names_are_nouns_and_verbs() {
    for name in Request::NAMES.iter().filter(|name| !["initialize", "shutdown"].contains(name)) {
        let parts: Vec<&str> = name.split('/').collect();
        assert_eq!(parts.len(), 2, "{name}");
        assert!(parts.iter().all(|part| is_camel_case(part)), "{name}");
    }
}

#[test]
fn methods_stand_in_alphabetical_order_within_their_noun() {
    let mut sorted = Request::NAMES[2..].to_vec();
    sorted.sort_unstable();
    assert_eq!(Request::NAMES[2..], sorted);
}

#[test]
fn the_tables_of_the_schema_are_the_tables_of_the_code() {
    let document = document();
    let names = |table: &str| -> Vec<String> {
        document[table].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names("methods"), Request::NAMES);
    assert_eq!(names("events"), EventData::NAMES);
    assert_eq!(document["version"], PROTOCOL_VERSION);
}

#[test]
fn no_two_types_share_a_name() {
    for name in document()["$defs"].as_object().unwrap().keys() {
        let numbered = name.ends_with(|last: char| last.is_ascii_digit());
        assert!(
            !numbered,
            "{name}: a number is what the generator adds to the second type of a name"
        );
    }
}

#[test]
fn every_reference_leads_to_a_type() {
    let document = document();
    let mut rest = schema::JSON;
    while let Some((_, tail)) = rest.split_once("\"#/$defs/") {
        let (name, tail) = tail.split_once('"').unwrap();
        assert!(document["$defs"].get(name).is_some(), "no type `{name}`");
        rest = tail;
    }
}

#[test]
fn the_hash_has_64_hex_digits() {
    assert_eq!(schema::HASH.len(), 64);
    assert!(schema::HASH.bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert!(schema::TYPESCRIPT.contains(schema::HASH));
    assert!(schema::LUA.contains(schema::HASH));
}
