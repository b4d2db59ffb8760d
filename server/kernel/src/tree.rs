//! Rows with their groups resolved: what each plugin's row says, and what it inherits.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::plugin::{Isolation, Reference, Row};

/// A set of providers that one group of consumers sees.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Realm {
    /// That of everything that is not isolated.
    Common,
    /// That of a row and what is below it.
    Private(String),
    /// That of all rows with one label.
    Label(String),
}

/// A plugin's row and what the groups around it add.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    /// The ids on the way to it, joined with `:`.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) config: Value,
    pub(crate) references: Vec<Reference>,
    pub(crate) disabled: bool,
    pub(crate) inject: Vec<String>,
    pub(crate) realms: BTreeMap<String, Realm>,
    pub(crate) intercepts: BTreeMap<String, Value>,
}

impl Leaf {
    /// Where a service is looked up and provided.
    pub(crate) fn realm(&self, service: &str) -> Realm {
        self.realms.get(service).cloned().unwrap_or(Realm::Common)
    }
}

/// What a row inherits from the groups around it.
#[derive(Clone, Default)]
struct Surroundings {
    prefix: String,
    disabled: bool,
    inject: Vec<String>,
    realms: BTreeMap<String, Realm>,
    intercepts: BTreeMap<String, Value>,
}

/// The plugins' rows of a tree, in its order.
pub(crate) fn flatten(rows: Vec<Row>) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    descend(rows, &Surroundings::default(), &mut leaves);
    leaves
}

fn descend(rows: Vec<Row>, around: &Surroundings, leaves: &mut Vec<Leaf>) {
    for row in rows {
        let id = format!("{}{}", around.prefix, row.id);
        let mut here = around.clone();
        here.disabled |= row.disabled;
        here.inject.extend(row.inject);
        for (service, isolation) in row.isolate {
            let realm = match isolation {
                Isolation::Private => Realm::Private(id.clone()),
                Isolation::Label(label) => Realm::Label(label),
            };
            here.realms.insert(service, realm);
        }
        for (service, config) in row.intercept {
            merge(here.intercepts.entry(service).or_insert(Value::Null), config);
        }
        match row.children {
            Some(children) => {
                here.prefix = format!("{id}:");
                descend(children, &here, leaves);
            }
            None => leaves.push(Leaf {
                id,
                name: row.name,
                config: row.config,
                references: row.references,
                disabled: here.disabled,
                inject: here.inject,
                realms: here.realms,
                intercepts: here.intercepts,
            }),
        }
    }
}

/// Puts `over` onto `base`: mappings key by key, everything else whole.
fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}
