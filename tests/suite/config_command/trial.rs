//! What only a start tells of a configuration is told by a check too, at the line of the person's own file.

use dsh_tests::world::World;
use expect_test::{Expect, expect};

use super::{run, write};

#[track_caller]
fn check(patch: &str, expected: &Expect) {
    let world = World::new();
    write(&world, "home/cordis.patch.yml", patch);
    let (_, found, _) = run(&world, &["config", "check"]);
    let told: Vec<&str> =
        found.lines().filter(|line| !line.trim_start().starts_with(['|', '^'])).collect();
    let told: Vec<&str> = told.into_iter().filter(|line| !line.contains(" | ")).collect();
    expected.assert_eq(&told.join("\n"));
}

#[test]
fn a_row_that_cannot_start_is_an_error() {
    check(
        "- id: fs\n  merge: {secrets: [\"[\"]}\n",
        &expect![[r#"
        ROOT/home/cordis.patch.yml:2:10: error: fs: [: unclosed character class; missing ']'; correct the list of secret names
        bundle dsh-base:29:11: warning: llm-offline: waits for search
        bundle dsh-base:46:11: warning: evidence: waits for fs
        bundle dsh-base:47:11: warning: tool-read: waits for fs
        bundle dsh-base:48:11: warning: tool-grep: waits for search
        bundle dsh-base:49:11: warning: tool-glob: waits for search
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
        bundle dsh-base:36:11: warning: sessions: waits for sessionStore
        bundle dsh-base:39:11: warning: agents: waits for sessions
        bundle dsh-base:43:11: warning: subagent-spawn: waits for agents
        bundle dsh-base:44:11: warning: subagent-fork: waits for agents
        bundle dsh-deliberation:2:11: warning: subagent-mid-fork-step-family-in-process: waits for agents
        bundle dsh-deliberation:11:11: warning: subagent-mid-fork-current-turn-in-process: waits for agents
        bundle dsh-deliberation:19:11: warning: tool-deliberation: waits for agents
        0 errors, 7 warnings"#]],
    );
}
