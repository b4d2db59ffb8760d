//! The schema document read back as a small model of types and tables, from which each language is written.
//!
//! Reading is strict: a form of schema that no writer knows is an error here, not a wrong type in an editor.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

/// The whole wire.
pub(crate) struct Wire {
    pub version: String,
    pub methods: Vec<Method>,
    pub notifications: Vec<Row>,
    pub events: Vec<Row>,
    pub error_kinds: Vec<ErrorKind>,
    pub types: Vec<Definition>,
}

/// One method.
pub(crate) struct Method {
    pub name: String,
    pub doc: String,
    pub runs: String,
    pub params: Type,
    pub result: Type,
}

/// A notification with its params, or an event with its data.
pub(crate) struct Row {
    pub name: String,
    pub doc: String,
    pub payload: Type,
}

/// One kind of domain failure.
pub(crate) struct ErrorKind {
    pub name: String,
    pub doc: String,
    pub retryable: bool,
}

/// A named type.
pub(crate) struct Definition {
    pub name: String,
    pub doc: String,
    pub shape: Shape,
}

/// What a named type is.
pub(crate) enum Shape {
    Object(Object),
    /// One of some words.
    Words(Vec<Word>),
    /// One of some objects, told apart by a field whose value is fixed in each.
    Tagged(Vec<Case>),
    /// Anything else: a newtype or an untagged union.
    Plain(Type),
}

/// One word of a closed list.
pub(crate) struct Word {
    pub text: String,
    pub doc: String,
}

/// One object of a tagged union.
pub(crate) struct Case {
    pub tag: String,
    pub doc: String,
    pub object: Object,
}

/// The fields of an object.
pub(crate) struct Object {
    pub fields: Vec<Field>,
    /// Whether it may have further fields that a reader is meant to look at.
    pub open: bool,
}

/// One field.
pub(crate) struct Field {
    pub name: String,
    pub doc: String,
    pub optional: bool,
    pub ty: Type,
}

/// A type in the place where it is used.
pub(crate) enum Type {
    Any,
    Null,
    Text,
    Whole,
    Truth,
    /// Exactly this text.
    Literal(String),
    List(Box<Type>),
    Named(String),
    Object(Object),
    Either(Vec<Type>),
}

impl Wire {
    /// Reads the document.
    pub(crate) fn read(document: &Value) -> Result<Self> {
        let types = entries(document, "$defs")?
            .map(|(name, schema)| {
                definition(name, schema).with_context(|| format!("type `{name}`"))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            version: text(document, "version")?,
            methods: entries(document, "methods")?
                .map(|(name, row)| method(name, row))
                .collect::<Result<_>>()?,
            notifications: rows(document, "notifications", "params")?,
            events: rows(document, "events", "data")?,
            error_kinds: error_kinds(document, &types)?,
            types,
        })
    }
}

impl Shape {
    /// Whether the type `name` is used in it.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        match self {
            Self::Object(object) => object.mentions(name),
            Self::Words(_) => false,
            Self::Tagged(cases) => cases.iter().any(|case| case.object.mentions(name)),
            Self::Plain(ty) => ty.mentions(name),
        }
    }
}

impl Type {
    /// Whether the type `name` is used in it.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        match self {
            Self::Any | Self::Null | Self::Text | Self::Whole | Self::Truth | Self::Literal(_) => {
                false
            }
            Self::List(item) => item.mentions(name),
            Self::Named(other) => other == name,
            Self::Object(object) => object.mentions(name),
            Self::Either(cases) => cases.iter().any(|case| case.mentions(name)),
        }
    }
}

impl Object {
    fn mentions(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.ty.mentions(name))
    }

    /// The value of the field that tells this object from others of its union.
    fn tag(&self) -> Option<&str> {
        self.fields.iter().find_map(|field| {
            if let Type::Literal(tag) = &field.ty { Some(tag.as_str()) } else { None }
        })
    }
}

fn entries<'a>(
    document: &'a Value,
    table: &str,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>> {
    let entries = document.get(table).and_then(Value::as_object);
    Ok(entries.with_context(|| format!("the document has no table `{table}`"))?.iter())
}

fn text(value: &Value, key: &str) -> Result<String> {
    Ok(value.get(key).and_then(Value::as_str).with_context(|| format!("no `{key}`"))?.to_owned())
}

/// A Rust doc comment keeps its line breaks; writers break lines themselves.
fn doc(schema: &Value) -> String {
    let doc = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    doc.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

fn part(row: &Value, key: &str) -> Result<Type> {
    read_type(row.get(key).with_context(|| format!("no `{key}`"))?)
}

fn method(name: &str, row: &Value) -> Result<Method> {
    Ok(Method {
        name: name.to_owned(),
        doc: doc(row),
        runs: text(row, "runs")?,
        params: part(row, "params")?,
        result: part(row, "result")?,
    })
}

fn rows(document: &Value, table: &str, payload: &str) -> Result<Vec<Row>> {
    entries(document, table)?
        .map(|(name, row)| {
            Ok(Row { name: name.clone(), doc: doc(row), payload: part(row, payload)? })
        })
        .collect()
}

fn error_kinds(document: &Value, types: &[Definition]) -> Result<Vec<ErrorKind>> {
    let Some(Shape::Words(words)) =
        types.iter().find(|definition| definition.name == "ErrorKind").map(|found| &found.shape)
    else {
        bail!("`ErrorKind` is no list of words");
    };
    entries(document, "errorKinds")?
        .map(|(name, row)| {
            let word = words.iter().find(|word| word.text == *name);
            Ok(ErrorKind {
                name: name.clone(),
                doc: word.with_context(|| format!("`{name}` is no `ErrorKind`"))?.doc.clone(),
                retryable: row
                    .get("retryable")
                    .and_then(Value::as_bool)
                    .context("no `retryable`")?,
            })
        })
        .collect()
}

fn definition(name: &str, schema: &Value) -> Result<Definition> {
    Ok(Definition { name: name.to_owned(), doc: doc(schema), shape: shape(schema)? })
}

fn shape(schema: &Value) -> Result<Shape> {
    let Some(cases) = schema.get("oneOf").and_then(Value::as_array) else {
        let ty = read_type(schema)?;
        return Ok(if let Type::Object(object) = ty {
            Shape::Object(object)
        } else {
            Shape::Plain(ty)
        });
    };
    let mut words = Vec::new();
    let mut tagged = Vec::new();
    for case in cases {
        let ty = read_type(case)?;
        if let Type::Literal(text) = ty {
            words.push(Word { text, doc: doc(case) });
        } else if let Type::Object(object) = ty {
            let tag = object.tag().context("a case of a union has no tag")?.to_owned();
            tagged.push(Case { tag, doc: doc(case), object });
        } else {
            bail!("a case of a union is neither a word nor an object");
        }
    }
    match (words.is_empty(), tagged.is_empty()) {
        (false, true) => Ok(Shape::Words(words)),
        (true, false) => Ok(Shape::Tagged(tagged)),
        _ => bail!("a union mixes words and objects"),
    }
}

fn read_type(schema: &Value) -> Result<Type> {
    let Value::Object(map) = schema else {
        return Ok(Type::Any);
    };
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let name = reference.strip_prefix("#/$defs/").context("a reference leaves `$defs`")?;
        return Ok(Type::Named(name.to_owned()));
    }
    if let Some(literal) = map.get("const") {
        return Ok(Type::Literal(literal.as_str().context("a constant is no text")?.to_owned()));
    }
    if let Some(cases) = map.get("anyOf").and_then(Value::as_array) {
        return Ok(Type::Either(cases.iter().map(read_type).collect::<Result<_>>()?));
    }
    match map.get("type") {
        None => Ok(Type::Any),
        Some(Value::String(name)) => read_named_type(name, map),
        Some(Value::Array(names)) => {
            let cases = names.iter().map(|name| {
                read_named_type(name.as_str().context("a type's name is no text")?, map)
            });
            Ok(Type::Either(cases.collect::<Result<_>>()?))
        }
        Some(other) => bail!("`type` is {other}"),
    }
}

fn read_named_type(name: &str, map: &Map<String, Value>) -> Result<Type> {
    Ok(match name {
        "null" => Type::Null,
        "string" => Type::Text,
        "integer" => Type::Whole,
        "boolean" => Type::Truth,
        "array" => Type::List(Box::new(map.get("items").map_or(Ok(Type::Any), read_type)?)),
        "object" => Type::Object(read_object(map)?),
        other => bail!("no writer knows the type `{other}`"),
    })
}

fn read_object(map: &Map<String, Value>) -> Result<Object> {
    let required: Vec<&str> = map
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut fields = Vec::new();
    for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let optional = !required.contains(&name.as_str());
        let ty = read_type(schema).with_context(|| format!("field `{name}`"))?;
        // `null` and absence mean the same on this wire, so an optional field needs no `null` of its own.
        let ty = if optional { without_null(ty) } else { ty };
        fields.push(Field { name: name.clone(), doc: doc(schema), optional, ty });
    }
    let open = map.get("additionalProperties") == Some(&Value::Bool(true));
    Ok(Object { fields, open })
}

fn without_null(ty: Type) -> Type {
    let Type::Either(cases) = ty else { return ty };
    let mut cases: Vec<Type> =
        cases.into_iter().filter(|case| !matches!(case, Type::Null)).collect();
    if cases.len() == 1 { cases.remove(0) } else { Type::Either(cases) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_refused(schema: &Value, expected: &str) {
        let Err(error) = shape(schema) else { panic!("read {schema}") };
        assert_eq!(error.root_cause().to_string(), expected);
    }

    #[test]
    fn a_form_that_no_writer_knows_is_refused() {
        check_refused(&json!({ "type": "number" }), "no writer knows the type `number`");
        check_refused(
            &json!({ "oneOf": [{ "const": "a" }, { "type": "string" }] }),
            "a case of a union is neither a word nor an object",
        );
        check_refused(
            &json!({ "oneOf": [{ "type": "object", "properties": { "a": { "type": "string" } } }] }),
            "a case of a union has no tag",
        );
        check_refused(&json!({ "$ref": "https://example.org" }), "a reference leaves `$defs`");
    }

    #[test]
    fn an_optional_field_needs_no_null_of_its_own() {
        let schema =
            json!({ "type": "object", "properties": { "a": { "type": ["string", "null"] } } });
        let Ok(Shape::Object(object)) = shape(&schema) else { panic!("no object") };
        assert!(matches!(object.fields[..], [Field { optional: true, ty: Type::Text, .. }]));
    }
}
