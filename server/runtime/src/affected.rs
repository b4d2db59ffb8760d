//! Which changes of the rows reach the agents, so that running turns are waited for first.

use std::collections::{BTreeMap, BTreeSet};

use dsh_agent::agents::AGENTS;
use dsh_kernel::plugin::{Plugin, Row};

/// Whether rows whose plugins provide what the agents work with are added, changed or removed.
pub(crate) fn reaches_agents(before: &[Row], after: &[Row], plugins: &[Plugin]) -> bool {
    let needed = needed(plugins);
    let (before, after) = (leaves(before), leaves(after));
    let ids: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    ids.into_iter().any(|id| {
        let (old, new) = (before.get(id), after.get(id));
        let provides = |row: &&Row| {
            plugin(plugins, &row.name)
                .is_some_and(|plugin| plugin.provides.iter().any(|name| needed.contains(name)))
        };
        old != new && old.into_iter().chain(new).any(provides)
    })
}

/// The agents' service and everything that it needs, directly or not.
fn needed(plugins: &[Plugin]) -> BTreeSet<&'static str> {
    let mut needed = BTreeSet::from([AGENTS.name()]);
    loop {
        let more: Vec<&str> = plugins
            .iter()
            .filter(|plugin| plugin.provides.iter().any(|name| needed.contains(name)))
            .flat_map(|plugin| plugin.inject.iter().chain(plugin.optional))
            .copied()
            .filter(|name| !needed.contains(name))
            .collect();
        if more.is_empty() {
            return needed;
        }
        needed.extend(more);
    }
}

fn plugin<'a>(plugins: &'a [Plugin], name: &str) -> Option<&'a Plugin> {
    plugins.iter().find(|plugin| plugin.name == name)
}

/// The rows that are no groups and are not disabled, by their full ids.
fn leaves(rows: &[Row]) -> BTreeMap<String, &Row> {
    fn collect<'a>(rows: &'a [Row], above: &str, leaves: &mut BTreeMap<String, &'a Row>) {
        for row in rows.iter().filter(|row| !row.disabled) {
            let id = format!("{above}{}", row.id);
            match &row.children {
                Some(children) => collect(children, &format!("{id}:"), leaves),
                None => drop(leaves.insert(id, row)),
            }
        }
    }
    let mut leaves = BTreeMap::new();
    collect(rows, "", &mut leaves);
    leaves
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsh_plugins::PLUGINS;
    use serde_json::{Value, json};

    fn rows() -> Vec<Row> {
        ["llm", "fs", "tools", "agent-loop", "agents", "tool-grep", "sessions"]
            .map(|id| Row::new(id, Value::Null))
            .to_vec()
    }

    #[test]
    fn a_tool_comes_and_goes_beside_running_turns_and_what_they_stand_on_does_not() {
        let reaches = |change: fn(&mut Vec<Row>)| {
            let mut after = rows();
            change(&mut after);
            reaches_agents(&rows(), &after, PLUGINS)
        };
        assert!(!reaches(|_| {}));
        assert!(!reaches(|rows| rows.retain(|row| row.id != "tool-grep")));
        assert!(!reaches(|rows| rows[5].disabled = true));
        assert!(reaches(|rows| rows[3].config = json!({ "maxParallelToolCalls": 1 })));
        assert!(reaches(|rows| rows[6].disabled = true));
        assert!(reaches(|rows| {
            let moved = rows.remove(0);
            rows.push(Row::group("models", vec![moved]));
        }));
    }
}
