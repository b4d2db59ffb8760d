//! Whoever registers something takes it back by dropping the registration: every registry is then as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dsh_agent::commands::{COMMANDS, Commands};
use dsh_agent::hooks::{HOOKS, PRE_EXECUTE, PRE_STEP, RESULT, TURN_STOPPING};
use dsh_agent::host::Observer as _;
use dsh_agent::prompt::{SYSTEM_PROMPT, Section, SystemPrompt};
use dsh_agent::subagents::{SUBAGENTS, Subagents};
use dsh_agent::tool::{Tool, ToolContext, ToolFailure, ToolOutput};
use dsh_agent::tools::{About, TOOLS, Tools};
use dsh_kernel::hooks::Position;
use dsh_kernel::plugin::{Plugin, Row, StartError};
use dsh_kernel::registration::Registration;
use dsh_kernel::{Context, Kernel, PluginState};
use dsh_llm::adapter::{Adapter, Chunks, Offer, Request};
use dsh_llm::models::{LLM, Models};
use dsh_plugins::PLUGINS;
use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::Notification;
use dsh_protocol::params::model::Modality;
use dsh_protocol::session::SessionStatus;
use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::workspace::ToolErrorCode;
use dsh_runtime::notices::{Listener, Notices};
use dsh_runtime::runtime::{Runtime, RuntimeConfig};
use dsh_session::store::BoxFuture;
use dsh_tests::world::World;
use futures_util::stream;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::product;

struct Nothing(ToolDefinition);

impl Tool for Nothing {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn run(
        &self,
        _arguments: Value,
        _cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async { Err(ToolFailure::new(ToolErrorCode::SearchFailed, "does nothing")) })
    }
}

fn tool(name: &str) -> Arc<dyn Tool> {
    Arc::new(Nothing(ToolDefinition {
        name: name.to_owned(),
        description: "Does nothing.".to_owned(),
        input_schema: json!({ "type": "object" }),
    }))
}

struct Silent(&'static str);

impl Adapter for Silent {
    fn provider(&self) -> &'static str {
        self.0
    }

    fn offers(&self) -> Vec<Offer> {
        vec![Offer { model: "m".to_owned(), context_window: None, input: vec![Modality::Text] }]
    }

    fn stream(&self, _request: Request, _cancel: CancellationToken) -> Chunks {
        Box::pin(stream::empty())
    }
}

#[derive(Default)]
struct Ear(Mutex<usize>);

impl Listener for Ear {
    fn notice(&self, _notice: &Notification) {
        *self.0.lock().unwrap() += 1;
    }
}

/// Registers three, drops the middle one, then the others; `names` says what is there.
fn check(
    mut register: impl FnMut(&'static str) -> Option<Registration>,
    names: impl Fn() -> Vec<String>,
) {
    assert_eq!(names(), Vec::<String>::new());
    let mut kept: Vec<Registration> =
        ["a", "b", "c"].into_iter().map(|name| register(name).unwrap()).collect();
    assert_eq!(names(), ["a", "b", "c"]);
    assert!(register("b").is_none(), "a name is taken once");
    assert_eq!(names(), ["a", "b", "c"], "a refused registration takes nothing away");
    drop(kept.remove(1));
    assert_eq!(names(), ["a", "c"]);
    kept.push(register("b").unwrap());
    assert_eq!(names(), ["a", "b", "c"]);
    drop(kept);
    assert_eq!(names(), Vec::<String>::new());
}

#[tokio::test]
async fn tools_go_with_their_registration() {
    let tools = Tools::default();
    check(
        |name| tools.register(tool(name)).ok(),
        || tools.list().into_iter().map(|tool| tool.definition.name).collect(),
    );
    assert!(tools.definitions().is_empty());
    let outcome = tools.call(About::default(), "a", json!({}), &CancellationToken::new()).await;
    assert_eq!(outcome.error.unwrap().code, ToolErrorCode::UnknownTool);
}

#[test]
fn adapters_go_with_their_registration() {
    let models = Models::default();
    let there = |name: &&str| models.adapter(name).is_some();
    check(
        |name| models.register(Arc::new(Silent(name))).ok(),
        || ["a", "b", "c"].into_iter().filter(there).map(str::to_owned).collect(),
    );
}

#[test]
fn sections_of_the_prompt_go_with_their_registration() {
    let prompt = SystemPrompt::default();
    check(
        |name| {
            let section = Section { name: name.to_owned(), order: 0, text: name.to_owned() };
            prompt.register(section).ok()
        },
        || {
            let assembled = prompt.assemble(&[]).unwrap().unwrap_or_default();
            assembled.split_whitespace().map(str::to_owned).collect()
        },
    );
    assert_eq!(prompt.assemble(&[]).unwrap(), None);
}

#[test]
fn listeners_go_with_their_registration() {
    let notices = Notices::default();
    let (first, second) = (Arc::new(Ear::default()), Arc::new(Ear::default()));
    let tell = || notices.status(&SessionId::from("s"), SessionStatus::Idle);
    let one = notices.listen(Arc::clone(&first) as Arc<dyn Listener>);
    let two = notices.listen(Arc::clone(&second) as Arc<dyn Listener>);
    tell();
    drop(one);
    tell();
    assert_eq!(notices.listeners(), 1);
    drop(two);
    tell();
    assert_eq!(notices.listeners(), 0);
    assert_eq!((*first.0.lock().unwrap(), *second.0.lock().unwrap()), (1, 2));
}

#[tokio::test]
async fn a_closed_runtime_leaves_no_tool_no_model_and_no_session() {
    let world = World::new();
    let runtime = Runtime::new(RuntimeConfig::new(world.home()));
    runtime.open_folder(&world.work().to_string_lossy()).unwrap();
    let workspace = runtime.workspace(None).await.unwrap();
    let agents = workspace.agents().await.unwrap();
    let (models, tools) = (workspace.models().await.unwrap(), workspace.tools().await.unwrap());
    let default = agents.default_model();
    assert!(!tools.list().is_empty());
    assert!(!models.list(&default).await.is_empty());
    agents.create(dsh_agent::agents::NewSession::default()).await.unwrap();
    assert_eq!(runtime.session_count(), 1);
    runtime.close().await.unwrap();
    assert!(tools.list().is_empty());
    assert!(models.list(&default).await.is_empty());
    assert_eq!((agents.count(), runtime.session_count()), (0, 0));
}

fn listen(
    context: Context,
    _: Value,
) -> futures_util::future::BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        PRE_STEP.listen(&context, Position::Last, |_| async { Ok(None) })?;
        PRE_EXECUTE.listen(&context, Position::First, |_| async { Ok(None) })?;
        TURN_STOPPING.listen(&context, Position::Last, |_| async { Ok(None) })?;
        RESULT.listen(&context, Position::First, |_| async { Ok(()) })?;
        Ok(())
    })
}

/// The registries of one moment. They outlive the rows that provide them.
struct Registries {
    tools: Option<Arc<Tools>>,
    models: Option<Arc<Models>>,
    prompt: Option<Arc<SystemPrompt>>,
    subagents: Option<Arc<Subagents>>,
    commands: Option<Arc<Commands>>,
}

impl Registries {
    fn of(kernel: &Kernel) -> Self {
        let (tools, models) = (kernel.get(&TOOLS), kernel.get(&LLM));
        let (prompt, subagents) = (kernel.get(&SYSTEM_PROMPT), kernel.get(&SUBAGENTS));
        let commands = kernel.get(&COMMANDS);
        Self { tools, models, prompt, subagents, commands }
    }

    /// Which of these names are taken, each with the registry. A name is taken if nobody else gets it.
    fn taken(&self, names: &BTreeSet<String>) -> BTreeSet<String> {
        let mut taken = BTreeSet::new();
        for name in names {
            let section = Section { name: name.clone(), order: 0, text: String::new() };
            let adapter = self.models.as_ref().is_some_and(|it| it.adapter(name).is_some());
            let section = self.prompt.as_ref().is_some_and(|it| it.register(section).is_err());
            let all = [("adapter", adapter), ("section", section)];
            let those = all.into_iter().filter(|(_, is_there)| *is_there);
            taken.extend(those.map(|(kind, _)| format!("{kind} {name}")));
        }
        let tools = self.tools.iter().flat_map(|tools| tools.list());
        taken.extend(tools.map(|tool| format!("tool {}", tool.definition.name)));
        let subagents = self.subagents.iter().flat_map(|subagents| subagents.names());
        taken.extend(subagents.map(|name| format!("subagent-provider {name}")));
        let commands = self.commands.iter().flat_map(|commands| commands.list());
        taken.extend(commands.map(|command| format!("command /{}", command.name)));
        taken
    }
}

/// Everything that stands in some registry of a tree, each entry with the row that put it there.
fn entries(kernel: &Kernel, names: &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
    let mut entries: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in Registries::of(kernel).taken(names) {
        entries.insert(entry, Vec::new());
    }
    for status in kernel.plugins() {
        for service in status.provides {
            entries.entry(format!("service {service}")).or_default().push(status.id.clone());
        }
        for label in status.effects {
            // A name is that of the registration, whichever registry it is in.
            let name = label.trim_matches('`');
            for (entry, owners) in &mut entries {
                let is_it = |(_, of_entry): (&str, &str)| of_entry == name;
                if entry.split_once(' ').is_some_and(is_it) {
                    owners.push(status.id.clone());
                }
            }
        }
    }
    for hook in HOOKS {
        for row in kernel.hooks().rows(hook.name) {
            entries.entry(format!("hook {}", hook.name)).or_default().push(row);
        }
    }
    // A row that comes again listens behind the others.
    for rows in entries.values_mut() {
        rows.sort();
    }
    entries
}

/// The rows that cannot run without a row: those that need a service of it, and so on.
fn dependents(of: &str, rows: &[Row], plugins: &[Plugin]) -> BTreeSet<String> {
    let plugin = |row: &Row| plugins.iter().find(|plugin| plugin.name == row.name).unwrap();
    let mut down = BTreeSet::from([of.to_owned()]);
    loop {
        let gone: BTreeSet<&str> = rows
            .iter()
            .filter(|row| down.contains(&row.id))
            .flat_map(|row| plugin(row).provides)
            .copied()
            .collect();
        let needs = |row: &&Row| plugin(row).inject.iter().any(|name| gone.contains(name));
        let more: Vec<String> = rows.iter().filter(needs).map(|row| row.id.clone()).collect();
        let before = down.len();
        down.extend(more);
        if down.len() == before {
            return down;
        }
    }
}

/// Waits until the entries of a tree are those that are expected.
async fn settled(
    kernel: &Kernel,
    names: &BTreeSet<String>,
    expected: &BTreeMap<String, Vec<String>>,
    when: &str,
) {
    let patience = Instant::now() + Duration::from_secs(10);
    while entries(kernel, names) != *expected && Instant::now() < patience {
        tokio::task::yield_now().await;
    }
    assert_eq!(entries(kernel, names), *expected, "{when}");
}

#[tokio::test]
async fn every_row_takes_exactly_its_entries_out_of_every_registry_and_brings_them_back() {
    let world = World::new();
    let listener = Plugin::new("listener", listen);
    let plugins = [PLUGINS, &[listener]].concat();
    let rows = product::rows(
        &world,
        "- insert: [{ id: listener }]\n- { id: system-prompt, merge: { persona: Calm. } }",
    );
    let kernel = product::mount(&world, rows.clone(), &plugins).await;
    let labels = kernel.plugins().into_iter().flat_map(|status| status.effects);
    let names: BTreeSet<String> = labels.map(|label| label.trim_matches('`').to_owned()).collect();
    let all = entries(&kernel, &names);
    for (entry, owners) in &all {
        // Several may listen to one hook.
        let is_shared = entry.starts_with("hook ") && !owners.is_empty();
        assert!(owners.len() == 1 || is_shared, "{entry} is of {owners:?}");
    }
    assert!(all.contains_key("command /deliberate"), "{all:?}");
    for kind in ["adapter", "hook", "section", "service", "subagent-provider", "tool"] {
        assert!(all.keys().filter(|entry| entry.starts_with(kind)).count() > 1, "{kind}: {all:?}");
    }
    for row in &rows {
        let id = &row.id;
        let before = Registries::of(&kernel);
        let down = dependents(id, &rows, &plugins);
        let mut without = rows.clone();
        without.iter_mut().find(|row| row.id == *id).unwrap().disabled = true;
        kernel.update(without).await.unwrap();
        for status in kernel.plugins() {
            let expected = match status.state {
                PluginState::Disposed => status.id == *id,
                PluginState::Pending => status.id != *id && down.contains(&status.id),
                PluginState::Active => !down.contains(&status.id),
                PluginState::Loading | PluginState::Failed | PluginState::Unloading => false,
            };
            assert!(expected, "without `{id}`: {status:?}");
        }
        let mut left = all.clone();
        left.retain(|_, owners| {
            owners.retain(|owner| !down.contains(owner));
            !owners.is_empty()
        });
        if down.contains("commands") {
            // Whoever adds to it goes on without it.
            left.retain(|entry, _| !entry.starts_with("command "));
        }
        if down.contains("subagent-spawn") {
            // It is not offered while nobody starts what it asks for.
            left.remove("tool subagent");
        }
        if down.contains("subagent-fork") {
            left.remove("tool subagent_fork");
        }
        let is_needed = |row: &&Row| {
            row.id.starts_with("subagent-") && row.id != "subagent-mid-fork-current-turn-in-process"
        };
        let providers = rows.iter().filter(is_needed);
        if providers.map(|row| &row.id).any(|provider| down.contains(provider)) {
            // It is put up and taken down as providers come and go, by a task that hears of them.
            left.remove("tool deliberate");
        }
        settled(&kernel, &names, &left, &format!("without `{id}`")).await;
        // Whoever holds a registry of before finds nothing more in it than the tree has.
        let held: BTreeSet<String> = left.into_keys().collect();
        let forgotten = before.taken(&names);
        assert!(forgotten.is_subset(&held), "without `{id}`: {forgotten:?} and {held:?}");
        kernel.update(rows.clone()).await.unwrap();
        settled(&kernel, &names, &all, &format!("with `{id}` again")).await;
    }
    let before = Registries::of(&kernel);
    kernel.dispose().await;
    assert_eq!(before.taken(&names), BTreeSet::new());
    assert_eq!(before.prompt.unwrap().assemble(&[]).unwrap(), None);
    assert_eq!(entries(&kernel, &names), BTreeMap::new());
    for status in kernel.plugins() {
        assert_eq!(
            (status.state, status.effects),
            (PluginState::Disposed, vec![]),
            "{}",
            status.id
        );
    }
}
