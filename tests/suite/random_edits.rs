//! Random edits of every layer against one running server: after each, its tree is that of a fresh boot of the same
//! files, or the last one that was good.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dsh_tests::client::Client;
use dsh_tests::seed::Seed;
use dsh_tests::world::World;
use serde_json::{Value, json};

const EDITS: u64 = 200;

/// How long two attempts at one edit may take.
const SETTLED: Duration = Duration::from_secs(20);

/// The numbers that choose the edits. Another one here is another test.
const SEED: u64 = 0x1a7e;

/// Entries of a file. What comes of one depends on the others: some fail only beside others.
const ENTRIES: [&str; 24] = [
    "- {id: tool-grep, disabled: true}",
    "- {id: tool-grep, disabled: false}",
    "- {id: tool-glob, disabled: true}",
    "- {id: tool-read, disabled: !env [NO_READ, true]}",
    "- {id: tool-read, disabled: !env NO_READ}",
    "- {id: agent-loop, merge: {budgets: {steps: 4}}}",
    "- {id: agent-loop, merge: {budgets: {steps: null, minutes: 9}}}",
    "- {id: agent-loop, config: {maxParallelToolCalls: 3}}",
    "- {id: agent-loop, config: null}",
    "- {id: llm-local, merge: {models: [{id: one}, {id: two}]}}",
    "- {id: llm-openai, disabled: true}",
    "- {id: llm-openai, merge: {provider: elsewhere}}",
    "- {id: system-prompt, merge: {persona: Calm.}}",
    "- {id: system-prompt, merge: {persona: null}}",
    "- {id: session-store, disabled: null}",
    "- {id: fs, config: {secrets: ['*.key']}}",
    "- {id: group, disabled: true}",
    "- {id: 'group:tool-read', disabled: true}",
    "- {id: spare, disabled: true}",
    "- insert: [{id: waits, name: tool-grep, inject: [nothing]}]",
    "- insert: [{id: spare, name: tool-read}]",
    "- insert: [{id: tool-glob, name: tool-grep}]",
    "- insert: [{id: far, name: openai-compatible, config: {provider: elsewhere, dialect: openai}}]",
    "- insert: [{id: group, group: true, isolate: {tools: true}, config: [{id: tools}, {id: tool-read}]}]",
];

/// What is wrong wherever it stands.
const BROKEN: [&str; 10] = [
    "",
    "{}",
    "- id: [",
    "- id: tools\n\tdisabled: true",
    "- {id: tools, disbaled: true}",
    "- {id: tools, disabled: perhaps}",
    "- {id: agent-loop, merge: {budgets: {stepz: 1}}}",
    "- {id: agent-loop, config: {maxParallelToolCalls: 0}}",
    "- insert: [{id: gone, name: no-such-plugin}]",
    "- insert: [{id: twice, name: tools}, {id: twice, name: tools}]",
];

/// The files of the layers.
struct Layers(Vec<PathBuf>);

impl Layers {
    fn of(world: &World) -> Self {
        let home = world.home();
        let profile = home.join("profiles/editor/cordis.patch.yml");
        let files = vec![profile, home.join("cordis.patch.yml"), world.root().join("mine.yml")];
        Self(files)
    }

    /// Creates, edits, breaks, repairs or deletes one of them.
    fn edit(&self, seed: &mut Seed) {
        let file = &self.0[usize::try_from(seed.below(3)).unwrap()];
        let pick = |seed: &mut Seed, from: &[&str]| from[seed.size(from.len()) - 1].to_owned();
        let text = match seed.below(10) {
            // The folder with it: it is made again.
            0 if file.starts_with(file.ancestors().nth(2).unwrap().join("profiles")) => {
                let _ = fs::remove_dir_all(file.parent().unwrap());
                return;
            }
            0 | 1 => {
                let _ = fs::remove_file(file);
                return;
            }
            2 | 3 => pick(seed, &BROKEN),
            _ => {
                let lines = (0..seed.below(5)).map(|_| pick(seed, &ENTRIES)).collect::<Vec<_>>();
                if lines.is_empty() { "[]".to_owned() } else { lines.join("\n") }
            }
        };
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        if seed.below(2) == 0 {
            fs::write(file, text + "\n").unwrap();
        } else {
            // As editors save.
            let beside = file.with_extension("new");
            fs::write(&beside, text + "\n").unwrap();
            fs::rename(beside, file).unwrap();
        }
    }

    fn show(&self) -> String {
        let show = |file: &PathBuf| {
            let text = fs::read_to_string(file).unwrap_or_else(|_| "(absent)\n".to_owned());
            format!("--- {}\n{text}", file.display())
        };
        self.0.iter().map(show).collect()
    }
}

/// Everything that a client can see of a tree, or why there is none.
fn tree(client: &mut Client) -> Result<Value, Value> {
    let id = client.ask("plugin/list", json!({}));
    let answer = client.answer(id);
    if let Some(error) = answer.get("error") {
        return Err(error.clone());
    }
    let mut plugins = answer["result"]["plugins"].as_array().unwrap().clone();
    // In what order they stand says when they came.
    plugins.sort_by_key(|plugin| plugin["id"].to_string());
    if let Some(failed) = plugins.iter().find(|plugin| plugin["state"] == "failed") {
        return Err(failed.clone());
    }
    Ok(json!({
        "plugins": plugins,
        "dump": client.request("config/dump", json!({})),
        "tools": client.request("tool/list", json!({})),
        "models": client.request("model/list", json!({})),
    }))
}

fn start(world: &World) -> Client {
    let patch = world.root().join("mine.yml").display().to_string();
    let mut client = world.connect(&["--patch", &patch, "--model", "offline/retrieval"]);
    client.initialize();
    client
}

#[test]
fn a_running_tree_is_that_of_a_fresh_boot_or_the_last_good_one() {
    let world = World::new();
    let layers = Layers::of(&world);
    fs::write(&layers.0[2], "[]").unwrap();
    let mut client = start(&world);
    client.session("s");
    let mut good = tree(&mut client).unwrap();
    let mut seed = Seed::new(SEED);
    let mut outcomes = [0_u64; 2];
    for edit in 1..=EDITS {
        layers.edit(&mut seed);
        let mut fresh = start(&world);
        let expected = tree(&mut fresh);
        fresh.shut_down();
        let reloaded = client.request("config/reload", json!({}));
        let about = || format!("seed {SEED}, edit {edit}\n{}{reloaded}", layers.show());
        assert_eq!(reloaded["ok"], expected.is_ok(), "{}\nfresh: {expected:?}", about());
        outcomes[usize::from(expected.is_ok())] += 1;
        if let Ok(expected) = expected {
            good = expected;
        }
        // The server watches the files as well: it may be trying the same edit once more.
        let mut running = Err(Value::Null);
        let patience = Instant::now() + SETTLED;
        while running.as_ref() != Ok(&good) && Instant::now() < patience {
            running = tree(&mut client);
        }
        let running = running.unwrap_or_else(|error| panic!("{}\n{error}", about()));
        for part in ["plugins", "dump", "tools", "models"] {
            assert_eq!(running[part], good[part], "{part}: {}", about());
        }
    }
    let [broken, applied] = outcomes;
    assert!(broken > EDITS / 10 && applied > EDITS / 10, "{broken} broken, {applied} applied");
    for file in &layers.0 {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "[]").unwrap();
    }
    assert_eq!(client.request("config/reload", json!({}))["ok"], true);
    client.complete("s", "where is Registration defined?");
    client.shut_down();
}
