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
