//! The tool is there while all of its providers are, and only for those who may use it.

use dsh_agent::subagents::provider::{Capabilities, Capability};
use dsh_agent::tool::Viewer;

use super::scripted::ALL;
use super::*;

const NAMES: [&str; 6] =
    ["spawn", "fork", "mid-fork-step-1", "mid-fork-step-2", "mid-fork-step-3", "mid-fork-step-4"];

fn provider(name: &str) -> Arc<Scripted> {
    Scripted::new(name, name != "spawn")
}

fn open(bench: &Bench) -> Result<(), String> {
    bench.gate.open(Arc::new(Deliberate::new(Arc::clone(&bench.rounds))))
}

fn is_up(bench: &Bench) -> bool {
    let policy = bench.prompt.assemble(&[("provider", ""), ("model", ""), ("cwd", "")]).unwrap();
    let has_policy = policy.unwrap_or_default().contains("# Deliberation");
    assert_eq!(bench.tools.has("deliberate"), has_policy);
    has_policy
}

#[tokio::test]
async fn d26_the_tool_and_its_policy_follow_the_whole_family() {
    let bench = Bench::new().await;
    open(&bench).unwrap();
    let mut kept: Vec<Registration> = Vec::new();
    for name in NAMES {
        assert!(!is_up(&bench), "before {name}");
        kept.push(bench.provide(&provider(name)));
        bench.gate.changed("somebody-else");
        assert!(!is_up(&bench), "of another name");
        bench.gate.changed(name);
    }
    assert!(is_up(&bench));
    for gone in [1, 0, 4] {
        let name = NAMES[gone];
        drop(kept.remove(gone));
        bench.gate.changed(name);
        assert!(!is_up(&bench), "{name} is gone");
        assert!(bench.gate.missing().unwrap().contains(name));
        kept.insert(gone, bench.provide(&provider(name)));
        bench.gate.changed(name);
        assert!(is_up(&bench), "{name} is back");
    }
    bench.gate.close();
    assert!(!is_up(&bench));
    bench.gate.changed("spawn");
    assert!(!is_up(&bench), "closed for good");
}

#[tokio::test]
async fn d28_d27_a_provider_that_cannot_do_refuses_the_start() {
    for (wrong, word) in [("spawn", "fresh"), ("fork", "fork"), ("mid-fork-step-3", "mid-fork")] {
        let bench = Bench::new().await;
        let refusal = |can: Capabilities| {
            let kept: Vec<Registration> = NAMES
                .into_iter()
                .map(|name| {
                    let own =
                        if name == wrong { Scripted::with(name, can) } else { provider(name) };
                    bench.provide(&own)
                })
                .collect();
            let refused = open(&bench).unwrap_err();
            assert!(!is_up(&bench));
            drop(kept);
            refused
        };
        let inherits = wrong != "spawn";
        assert_eq!(
            refusal(Capabilities { inherits_parent_context: !inherits, supports: ALL }),
            format!(
                "tool-deliberation: {word} provider \"{wrong}\" reports incompatible parent-history semantics"
            )
        );
        for (supports, lacked) in [
            (&[Capability::DepthLimit, Capability::ToolFilter] as &'static [_], "outputSchema"),
            (&[Capability::OutputSchema, Capability::ToolFilter], "depthLimit"),
            (&[Capability::OutputSchema, Capability::DepthLimit], "toolFilter"),
        ] {
            assert_eq!(
                refusal(Capabilities { inherits_parent_context: inherits, supports }),
                format!(
                    "tool-deliberation: {word} provider \"{wrong}\" lacks required {lacked} capability"
                )
            );
        }
    }
}

#[tokio::test]
async fn d8_3_a_late_provider_that_cannot_do_keeps_the_tool_down_until_another_comes() {
    let bench = Bench::new().await;
    open(&bench).unwrap();
    let mut kept: Vec<Registration> =
        NAMES[..5].iter().map(|name| bench.provide(&provider(name))).collect();
    let wrong = Capabilities { inherits_parent_context: false, supports: ALL };
    let late = bench.provide(&Scripted::with(NAMES[5], wrong));
    bench.gate.changed(NAMES[5]);
    assert!(!is_up(&bench));
    assert!(bench.gate.missing().unwrap().contains("incompatible"));
    drop(late);
    bench.gate.changed(NAMES[5]);
    kept.push(bench.provide(&provider(NAMES[5])));
    bench.gate.changed(NAMES[5]);
    assert!(is_up(&bench));
}

#[tokio::test]
async fn the_tool_is_hidden_where_depth_forbids_it() {
    let bench = Bench::new().await;
    let tool = Deliberate::new(Arc::clone(&bench.rounds));
    assert!(tool.is_offered(Viewer { depth: 0 }));
    assert!(!tool.is_offered(Viewer { depth: 1 }));
    assert!(tool.concurrency_safe());
    assert!(tool.deadline() > Duration::from_millis(bench.services.config.branch_timeout_ms));
}

#[test]
fn d2_the_plugin_is_known_by_its_founding_name_and_needs() {
    assert_eq!(PLUGIN.name, "dsh-deliberation");
    for service in ["subagents", "systemPrompt", "tools"] {
        assert!(PLUGIN.inject.contains(&service));
    }
}
