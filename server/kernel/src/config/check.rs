//! Compares a configuration with a schema and reports everything that is wrong at once; serde, which stops at
//! the first problem, has the last word on what a schema cannot say.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::{ConfigProblem, KeyPath};

/// The schema of a type. Where it lists the keys of a mapping, others are refused.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    close(&mut schema);
    schema
}

/// Every problem of a configuration that is to be read as a `T`; `null` means an empty mapping.
pub(super) fn check_as<T: DeserializeOwned + JsonSchema>(config: &Value) -> Vec<ConfigProblem> {
    let config = if config.is_null() { &Value::Object(Map::new()) } else { config };
    let root = schema_of::<T>();
    let mut problems = Vec::new();
    Walk { root: &root }.compare(&root, config, &KeyPath::default(), &mut problems);
    if problems.is_empty()
        && let Err(error) = serde_path_to_error::deserialize::<_, T>(config)
    {
        let path = path_of(error.path());
        problems.push(ConfigProblem { path, message: error.into_inner().to_string() });
    }
    problems
}

fn path_of(path: &serde_path_to_error::Path) -> KeyPath {
    path.iter().fold(KeyPath::default(), |above, segment| match segment {
        Segment::Seq { index } => above.index(*index),
        Segment::Map { key } => above.key(key),
        Segment::Enum { .. } | Segment::Unknown => above,
    })
}

/// Makes mappings say that they take the listed keys only.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let composed =
                ["oneOf", "anyOf", "allOf", "$ref"].iter().any(|key| map.contains_key(*key));
            if map.contains_key("properties")
                && !map.contains_key("additionalProperties")
                && !composed
            {
                map.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            map.values_mut().for_each(close);
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The parts of JSON Schema that schemars writes, as far as they say something of a configuration.
struct Walk<'a> {
    /// Where definitions are looked up.
    root: &'a Value,
}

impl Walk<'_> {
    fn compare(&self, schema: &Value, value: &Value, path: &KeyPath, out: &mut Vec<ConfigProblem>) {
        let mut say = |message: String| out.push(ConfigProblem { path: path.clone(), message });
        let Value::Object(rules) = schema else {
            if *schema == Value::Bool(false) {
                say("is not allowed".to_owned());
            }
            return;
        };
        if let Some(wanted) = rules.get("type")
            && !names(wanted).iter().any(|name| is_a(name, value))
        {
            return say(format!("expected {}, found {}", self.expected(schema), kind(value)));
        }
        let constants = rules.get("enum").and_then(Value::as_array);
        if constants.is_some_and(|list| !list.contains(value))
            || rules.get("const").is_some_and(|constant| constant != value)
        {
            return say(format!("expected {}, found {}", self.expected(schema), shown(value)));
        }
        if let Some(limit) = broken_limit(rules, value) {
            say(limit);
        }
        if let Some(target) = self.target(rules) {
            self.compare(target, value, path, out);
        }
        for part in list(rules, "allOf") {
            self.compare(part, value, path, out);
        }
        for key in ["anyOf", "oneOf"] {
            if rules.contains_key(key) {
                self.compare_alternatives(list(rules, key), value, path, out);
            }
        }
        match value {
            Value::Object(map) => self.compare_keys(rules, map, path, out),
            Value::Array(elements) => {
                let Some(element_schema) = rules.get("items") else { return };
                for (index, element) in elements.iter().enumerate() {
                    self.compare(element_schema, element, &path.index(index), out);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Reports the problems of the alternative that was most likely meant.
    fn compare_alternatives(
        &self,
        alternatives: &[Value],
        value: &Value,
        path: &KeyPath,
        out: &mut Vec<ConfigProblem>,
    ) {
        let mut nearest: Option<(bool, usize, Vec<ConfigProblem>)> = None;
        for alternative in alternatives {
            let mut problems = Vec::new();
            self.compare(alternative, value, path, &mut problems);
            if problems.is_empty() {
                return;
            }
            // Of another kind altogether, or with another tag.
            let foreign = problems.iter().any(|problem| problem.path == *path)
                || self.has_other_tag(alternative, value);
            let key = (foreign, problems.len());
            if nearest.as_ref().is_none_or(|(foreign, count, _)| key < (*foreign, *count)) {
                nearest = Some((foreign, problems.len(), problems));
            }
        }
        match nearest {
            Some((false, _, problems)) => out.extend(problems),
            Some((true, _, problems)) if alternatives.len() == 1 => out.extend(problems),
            _ => {
                let expected = joined(alternatives.iter().map(|it| self.expected(it)).collect());
                let message = format!("expected {expected}, found {}", shown(value));
                out.push(ConfigProblem { path: path.clone(), message });
            }
        }
    }

    /// Whether one of the alternative's keys must hold a constant and holds something else or nothing.
    fn has_other_tag(&self, alternative: &Value, value: &Value) -> bool {
        let rules = alternative.as_object();
        let alternative = rules.and_then(|rules| self.target(rules)).unwrap_or(alternative);
        let properties = alternative.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().any(|(key, schema)| {
            schema.get("const").is_some_and(|constant| value.get(key) != Some(constant))
        })
    }

    fn compare_keys(
        &self,
        rules: &Map<String, Value>,
        map: &Map<String, Value>,
        path: &KeyPath,
        out: &mut Vec<ConfigProblem>,
    ) {
        let properties = rules.get("properties").and_then(Value::as_object);
        for key in list(rules, "required").iter().filter_map(Value::as_str) {
            if !map.contains_key(key) {
                out.push(ConfigProblem { path: path.key(key), message: "is missing".to_owned() });
            }
        }
        for (key, value) in map {
            let at = path.key(key);
            if let Some(schema) = properties.and_then(|properties| properties.get(key)) {
                self.compare(schema, value, &at, out);
            } else if let Some(others) = rules.get("additionalProperties") {
                if *others == Value::Bool(false) {
                    out.push(ConfigProblem { path: at, message: unknown(properties) });
                } else {
                    self.compare(others, value, &at, out);
                }
            }
        }
    }

    fn target(&self, rules: &Map<String, Value>) -> Option<&Value> {
        let reference = rules.get("$ref")?.as_str()?;
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// What a schema accepts, for a person.
    fn expected(&self, schema: &Value) -> String {
        let Value::Object(rules) = schema else { return "anything".to_owned() };
        if let Some(constant) = rules.get("const") {
            return shown(constant);
        }
        if rules.contains_key("enum") {
            return joined(list(rules, "enum").iter().map(shown).collect());
        }
        for key in ["anyOf", "oneOf"] {
            if rules.contains_key(key) {
                return joined(list(rules, key).iter().map(|it| self.expected(it)).collect());
            }
        }
        if let Some(target) = self.target(rules) {
            return self.expected(target);
        }
        let Some(wanted) = rules.get("type") else { return "anything".to_owned() };
        joined(names(wanted).into_iter().map(|name| with_article(name).to_owned()).collect())
    }
}

fn unknown(properties: Option<&Map<String, Value>>) -> String {
    let known: Vec<String> =
        properties.into_iter().flatten().map(|(key, _)| format!("`{key}`")).collect();
    if known.is_empty() {
        return "unknown key; no keys are taken here".to_owned();
    }
    format!("unknown key; known are {}", known.join(", "))
}

fn list<'a>(rules: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    rules.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The names in a schema's `type`: one or a list.
fn names(wanted: &Value) -> Vec<&str> {
    match wanted {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn is_a(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

fn with_article(name: &str) -> &str {
    match name {
        "null" => "nothing",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a string",
        "array" => "a list",
        "object" => "a mapping",
        other => other,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// A value as a message names it: short ones as they are. Long strings may be secrets in the wrong place.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() > 32 => "a string".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
    }
}

fn joined(mut words: Vec<String>) -> String {
    words.dedup();
    match words.pop() {
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} or {last}", words.join(", ")),
        None => "anything".to_owned(),
    }
}

fn broken_limit(rules: &Map<String, Value>, value: &Value) -> Option<String> {
    let limit = |key: &str| rules.get(key).and_then(Value::as_f64);
    let at_least = |found: f64, key: &str| limit(key).filter(|limit| found < *limit);
    let at_most = |found: f64, key: &str| limit(key).filter(|limit| found > *limit);
    #[expect(clippy::cast_precision_loss, reason = "lengths and limits are far below 2^52")]
    let count = |count: usize| count as f64;
    let (found, lowest, highest, unit) = match value {
        Value::Number(number) => (number.as_f64()?, "minimum", "maximum", ""),
        Value::String(text) => {
            (count(text.chars().count()), "minLength", "maxLength", " characters")
        }
        Value::Array(list) => (count(list.len()), "minItems", "maxItems", " elements"),
        Value::Null | Value::Bool(_) | Value::Object(_) => return None,
    };
    at_least(found, lowest)
        .map(|limit| format!("must be at least {limit}{unit}"))
        .or_else(|| at_most(found, highest).map(|limit| format!("must be at most {limit}{unit}")))
}
