//! JSON Schema, as far as the schema of patch files uses it. A keyword that is not known here is a failure, so that
//! nothing passes because it was not looked at.

use serde_json::{Map, Value};

/// Whether a value fits a schema that stands in `root`.
pub(super) fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    if let Some(fits) = schema.as_bool() {
        return fits;
    }
    let rules = schema.as_object().unwrap_or_else(|| panic!("no schema: {schema}"));
    rules.iter().all(|(keyword, rule)| keyword_fits(root, rules, keyword, rule, value))
}

fn keyword_fits(
    root: &Value,
    rules: &Map<String, Value>,
    keyword: &str,
    rule: &Value,
    value: &Value,
) -> bool {
    let object = value.as_object();
    match keyword {
        // They say nothing of values, or what `if` and `properties` look at themselves.
        "$schema" | "$defs" | "title" | "description" | "default" | "format" | "then" => true,
        "$ref" => fits(root, target(root, rule.as_str().unwrap()), value),
        "type" => {
            let names = rule.as_array().map_or(std::slice::from_ref(rule), Vec::as_slice);
            names.iter().any(|name| is_a(name.as_str().unwrap(), value))
        }
        "enum" => rule.as_array().unwrap().contains(value),
        "const" => rule == value,
        "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
        "minLength" => value.as_str().is_none_or(|text| text.chars().count() >= size(rule)),
        "minItems" => value.as_array().is_none_or(|items| items.len() >= size(rule)),
        "maxProperties" => object.is_none_or(|keys| keys.len() <= size(rule)),
        "required" => object.is_none_or(|keys| {
            rule.as_array().unwrap().iter().all(|key| keys.contains_key(key.as_str().unwrap()))
        }),
        "properties" => object.is_none_or(|keys| {
            let rules = rule.as_object().unwrap();
            keys.iter().all(|(key, value)| rules.get(key).is_none_or(|it| fits(root, it, value)))
        }),
        "additionalProperties" => object.is_none_or(|keys| {
            let listed = rules.get("properties");
            let mut others =
                keys.iter().filter(|(key, _)| listed.is_none_or(|it| it.get(key).is_none()));
            others.all(|(_, value)| fits(root, rule, value))
        }),
        "items" => {
            value.as_array().is_none_or(|items| items.iter().all(|item| fits(root, rule, item)))
        }
        "allOf" => all(rule).all(|schema| fits(root, schema, value)),
        "anyOf" => all(rule).any(|schema| fits(root, schema, value)),
        "oneOf" => all(rule).filter(|schema| fits(root, schema, value)).count() == 1,
        "not" => !fits(root, rule, value),
        "if" => !fits(root, rule, value) || fits(root, &rules["then"], value),
        _ => panic!("nobody looks at `{keyword}`"),
    }
}

fn all(schemas: &Value) -> impl Iterator<Item = &Value> {
    schemas.as_array().unwrap().iter()
}

fn size(rule: &Value) -> usize {
    usize::try_from(rule.as_u64().unwrap()).unwrap()
}

fn target<'a>(root: &'a Value, reference: &str) -> &'a Value {
    let pointer = reference.strip_prefix('#').unwrap().replace("%20", " ");
    root.pointer(&pointer).unwrap_or_else(|| panic!("`{reference}` leads nowhere"))
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("no type is called `{kind}`"),
    }
}
