//! JSON Schemas as models read them best: flat, without references, `null` or formats.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of a tool's arguments. Accepts what the Rust type accepts, except that an optional argument is
/// left out and not `null`.
pub(super) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(root) = schema.as_object_mut() {
        // The tool has a name and a description of its own.
        root.shift_remove("title");
        root.shift_remove("description");
    }
    flatten(&mut schema);
    schema
}

fn flatten(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        if let Some(list) = schema.as_array_mut() {
            list.iter_mut().for_each(flatten);
        }
        return;
    };
    object.values_mut().for_each(flatten);
    object.shift_remove("format");
    drop_null_type(object);
    drop_null_branch(object);
    join_constants(object);
}

/// `type: [x, null]` is `type: x`.
fn drop_null_type(object: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = object.get("type") else { return };
    let mut others = types.iter().filter(|name| *name != "null").cloned();
    if let (Some(only), None) = (others.next(), others.next()) {
        object.insert("type".to_owned(), only);
    }
}

/// `anyOf: [x, null]` is x, with the description that stands outside.
fn drop_null_branch(object: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = object.get("anyOf") else { return };
    let mut others = branches.iter().filter(|branch| branch["type"] != "null");
    let (Some(Value::Object(only)), None) = (others.next().cloned(), others.next()) else { return };
    object.shift_remove("anyOf");
    for (key, value) in only {
        let joined = match (object.get(&key).and_then(Value::as_str), value.as_str()) {
            (Some(outer), Some(inner)) if key == "description" => format!("{outer} {inner}").into(),
            (Some(_), _) => continue,
            (None, _) => value,
        };
        object.insert(key, joined);
    }
}

/// `oneOf` of constants is one `enum`; what each constant means joins the description.
fn join_constants(object: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = object.get("oneOf") else { return };
    let constants: Vec<Value> =
        branches.iter().filter_map(|branch| branch.get("const").cloned()).collect();
    if constants.len() != branches.len() {
        return;
    }
    let meanings: Vec<String> = branches
        .iter()
        .filter_map(|branch| {
            Some(format!("`{}`: {}", branch["const"].as_str()?, branch["description"].as_str()?))
        })
        .collect();
    object.shift_remove("oneOf");
    object.insert("type".to_owned(), "string".into());
    object.insert("enum".to_owned(), constants.into());
    if !meanings.is_empty() {
        object.insert("description".to_owned(), meanings.join(" ").into());
    }
}

#[cfg(test)]
mod tests {
    use dsh_protocol::workspace::{GlobArguments, GrepArguments, ReadArguments};
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_of_the_shipped_tools_are_flat() {
        for schema in [of::<ReadArguments>(), of::<GrepArguments>(), of::<GlobArguments>()] {
            let text = schema.to_string();
            for word in ["$ref", "$defs", "anyOf", "oneOf", "null", "format"] {
                assert!(!text.contains(&format!("\"{word}\"")), "{word} in {text}");
            }
            assert_eq!(schema["additionalProperties"], false);
        }
    }

    #[test]
    fn optional_arguments_keep_their_description_and_bounds() {
        let schema = of::<GlobArguments>();
        assert_eq!(schema["required"], json!(["pattern"]));
        let limit = &schema["properties"]["limit"];
        assert_eq!((&limit["type"], &limit["minimum"]), (&json!("integer"), &json!(1)));
        let order = &schema["properties"]["order"];
        assert_eq!(order["enum"], json!(["path", "newest"]));
        assert!(order["description"].as_str().unwrap().contains("Order of the result"));
    }
}
