//! What only a start tells of a configuration is told by a check too, at the line of the person's own file.

use dsh_tests::world::World;
use expect_test::{Expect, expect};

use super::{run, write};

#[track_caller]
fn check(patch: &str, expected: &Expect) {
    let world = World::new();
    write(&world, "home/cordis.patch.yml", patch);
    let (_, found, _) = run(&world, &["config", "check"]);
    let is_told = |line: &&str| !line.starts_with(' ') && !line.contains(" | ");
    // Where a row stands in the program is the program's own affair.
    let placeless = |line: &str| match line.split_once(": ") {
        Some((place, rest)) if place.starts_with("bundle ") => {
            let bundle = place.split(':').next().unwrap_or(place);
            format!("{bundle}: {rest}")
        }
        Some(_) | None => line.to_owned(),
    };
    let told: Vec<String> = found.lines().filter(is_told).map(placeless).collect();
    expected.assert_eq(&told.join("\n"));
}

#[test]
fn a_row_that_cannot_start_is_an_error() {
    check(
        "- id: fs\n  merge: {secrets: [\"[\"]}\n",
        &expect![[r#"
            ROOT/home/cordis.patch.yml:2:10: error: fs: [: unclosed character class; missing ']'; correct the list of secret names
            bundle dsh-base: warning: llm-offline: waits for search
            bundle dsh-base: warning: evidence: waits for fs
            bundle dsh-base: warning: tool-read: waits for fs
            bundle dsh-base: warning: tool-grep: waits for search
            bundle dsh-base: warning: tool-glob: waits for search
            1 error, 5 warnings"#]],
    );
    check(
        "- id: llm-local\n  merge: {provider: deepseek}\n",
        &expect![[r#"
        ROOT/home/cordis.patch.yml:2:10: error: llm-local: `deepseek` is registered already
        1 error, 0 warnings"#]],
    );
    check(
        "- insert: [{id: more, name: tool-grep}]\n",
        &expect![[r#"
        ROOT/home/cordis.patch.yml:1:17: error: more: `grep` is registered already
        1 error, 0 warnings"#]],
    );
}

#[test]
fn rows_that_wait_for_one_that_is_disabled_are_warnings() {
    check(
        "- id: session-store\n  disabled: true\n",
        &expect![[r#"
            bundle dsh-base: warning: sessions: waits for sessionStore
            bundle dsh-base: warning: agents: waits for sessions
            bundle dsh-base: warning: session-search: waits for sessionStore
            bundle dsh-base: warning: subagent-spawn: waits for agents
            bundle dsh-base: warning: subagent-fork: waits for agents
            bundle dsh-base: warning: tool-subagent-controls: waits for agents, sessions
            bundle dsh-deliberation: warning: subagent-mid-fork-step-family-in-process: waits for agents
            bundle dsh-deliberation: warning: subagent-mid-fork-current-turn-in-process: waits for agents
            bundle dsh-deliberation: warning: tool-deliberation: waits for agents, sessions
            0 errors, 9 warnings"#]],
    );
}

#[test]
fn names_that_nobody_has_are_warnings() {
    check(
        "- id: tool-deliberation\n  merge:\n    freshProvider: zzz\n    maxRecentSteps: 9\n    \
         autoReview: {enabled: true, provider: nosuch, route: other, capability: own}\n    \
         routes: [{name: other, description: d, provider: nowhere, model: m}]\n    \
         capabilityProfiles: [{name: own, description: d, allow: [nosuchtool, read]}]\n\
         - id: tool-subagent\n  merge: {provider: zzz, toolFilter: {deny: [bash]}}\n",
        &expect![[r#"
            ROOT/home/cordis.patch.yml:3:20: warning: tool-deliberation: `freshProvider` names `zzz`, and no row has a provider of subagents of that name; there are fork, mid-fork-current-turn, mid-fork-step-1, mid-fork-step-2, mid-fork-step-3, mid-fork-step-4, mid-fork-step-5, …
            ROOT/home/cordis.patch.yml:4:21: warning: tool-deliberation: `maxRecentSteps` names `mid-fork-step-9`, and no row has a provider of subagents of that name; there are fork, mid-fork-current-turn, mid-fork-step-1, mid-fork-step-2, mid-fork-step-3, mid-fork-step-4, mid-fork-step-5, …
            ROOT/home/cordis.patch.yml:5:43: warning: tool-deliberation: `autoReview.provider` names `nosuch`, and no row has a provider of subagents of that name; there are fork, mid-fork-current-turn, mid-fork-step-1, mid-fork-step-2, mid-fork-step-3, mid-fork-step-4, mid-fork-step-5, …
            ROOT/home/cordis.patch.yml:6:54: warning: tool-deliberation: `routes[0].provider` names `nowhere`, and no row has a provider of models of that name; there are deepseek, local, offline, openai, replay
            ROOT/home/cordis.patch.yml:7:61: warning: tool-deliberation: `capabilityProfiles[0].allow` names `nosuchtool`, and no row has a tool of that name; there are glob, grep, interrupt_agent, list_agents, read, send_message, subagent_fork
            ROOT/home/cordis.patch.yml:9:21: warning: tool-subagent: `provider` names `zzz`, and no row has a provider of subagents of that name; there are fork, mid-fork-current-turn, mid-fork-step-1, mid-fork-step-2, mid-fork-step-3, mid-fork-step-4, mid-fork-step-5, …
            ROOT/home/cordis.patch.yml:9:45: warning: tool-subagent: `toolFilter.deny` names `bash`, and no row has a tool of that name; there are glob, grep, interrupt_agent, list_agents, read, send_message, subagent_fork
            0 errors, 7 warnings"#]],
    );
    check(
        "- id: tool-deliberation\n  merge:\n    \
         autoReview: {enabled: true, provider: fork, route: other, capability: own}\n    \
         routes: [{name: other, description: d}]\n    \
         capabilityProfiles: [{name: own, description: d, allow: [read]}]\n",
        &expect![[r#"
            ROOT/home/cordis.patch.yml:3:43: warning: tool-deliberation: `autoReview.provider` names `fork`, whose agents see nothing of the turn that they are to review; name one of a row `mid-fork-provider`
            0 errors, 1 warning"#]],
    );
}

#[test]
fn what_no_model_would_take_is_an_error() {
    check(
        "- id: tool-subagent\n  merge: {agentOptions: {maxTokens: 0}}\n\
         - id: agent-loop\n  merge: {budgets: {steps: 0}}\n",
        &expect![[r#"
            ROOT/home/cordis.patch.yml:2:37: error: tool-subagent.agentOptions.maxTokens: must be at least 1
            ROOT/home/cordis.patch.yml:4:28: error: agent-loop.budgets.steps: must be at least 1
            2 errors, 0 warnings"#]],
    );
    check(
        "- id: tool-subagent\n  merge: {toolName: sub agent}\n",
        &expect![[r#"
        ROOT/home/cordis.patch.yml:2:21: error: tool-subagent.toolName: must be 1 to 64 of A-Z a-z 0-9 _ -
        1 error, 0 warnings"#]],
    );
}
