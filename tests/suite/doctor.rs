//! `dsh-ls doctor`: what is composed, active, visible and used, as four facts; what needs attention; and no value of
//! any setting, for its output is made to be pasted where others read it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use dsh_tests::script::Script;
use dsh_tests::world::World;
use expect_test::expect;
use serde_json::{Value, json};

fn write(world: &World, name: &str, text: &str) -> String {
    let path = world.root().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Exit code and standard output; nothing stands on standard error.
fn finish(world: &World, mut command: Command) -> (i32, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let root = world.root().display().to_string();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace(&root, "ROOT");
    assert_eq!(text(&output.stderr), "");
    (output.status.code().unwrap(), text(&output.stdout))
}

fn text(world: &World, arguments: &[&str]) -> (i32, String) {
    finish(world, world.command(["doctor"].iter().chain(arguments)))
}

fn report(world: &World, arguments: &[&str]) -> Value {
    let command = world.command(["doctor", "--json"].iter().chain(arguments));
    let (code, text) = finish(world, command);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["ok"], code == 0, "{text}");
    assert!(code < 2, "{text}");
    report
}

fn of<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    let found = list.as_array().unwrap().iter().find(|entry| entry[key] == name);
    found.unwrap_or_else(|| panic!("no `{name}` in {list}"))
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    of(&report["checks"], "name", name)
}

/// The names of the checks that need attention.
fn attention(report: &Value) -> Vec<&str> {
    let checks = report["checks"].as_array().unwrap().iter();
    checks.filter(|it| it["ok"] == false).map(|it| it["name"].as_str().unwrap()).collect()
}

/// A tree that has what a folder needs and nothing else.
const SMALL: &str = "- insert: [{id: llm}, {id: agent-default-model, config: {provider: offline, model: retrieval}}, {id: session-store}, {id: sessions}, {id: system-prompt}, {id: tools}, {id: agents}, {id: agent-loop}, {id: fs}, {id: llm-offline}, {id: tool-read}, {id: tool-grep}, {id: tool-glob, disabled: true}]\n- insert: [{id: mine, name: tool-glob, inject: [time, space]}]\n";

#[test]
fn a_report_is_four_facts_and_the_checks() {
    let world = World::new();
    let small = write(&world, "small.yml", SMALL);
    write(&world, "home/cordis.patch.yml", "- {id: tool-grep, disabled: false}\n");
    let home = "- id: agent-loop\n  merge: {budgets: {steps: 3}}\n";
    let late = write(&world, "late.yml", home);
    let patches = ["--profile", "none", "--patch", &small, "--patch", &late];
    let (code, report) = text(&world, &patches);
    let watches = |line: &&str| !line.contains(" watches ");
    let report: Vec<&str> = report.lines().filter(watches).collect();
    assert_eq!(code, 1, "a row waits");
    expect![[r#"
        workspace   ROOT/work
        home        ROOT/home
        profile     none

        Composed: the rows that the layers come to
          row                  plugin               comes from, patched by
          llm                  llm                  ROOT/small.yml
          agent-default-model  agent-default-model  ROOT/small.yml
          session-store        session-store        ROOT/small.yml
          sessions             sessions             ROOT/small.yml
          system-prompt        system-prompt        ROOT/small.yml
          tools                tools                ROOT/small.yml
          agents               agents               ROOT/small.yml
          agent-loop           agent-loop           ROOT/small.yml, ROOT/late.yml
          fs                   fs                   ROOT/small.yml
          llm-offline          llm-offline          ROOT/small.yml
          tool-read            tool-read            ROOT/small.yml
          tool-grep            tool-grep            ROOT/small.yml
          tool-glob            tool-glob            ROOT/small.yml (disabled)
          mine                 tool-glob            ROOT/small.yml

        Active: where each row's plugin stands
          row                  state     provides; waits for; why not
          llm                  active    llm
          agent-default-model  active    defaultModel
          session-store        active    sessionStore
          sessions             active    sessions
          system-prompt        active    systemPrompt
          tools                active    tools
          agents               active    agents
          agent-loop           active    agentLoop
          fs                   active    fs, search
          llm-offline          active
          tool-read            active
          tool-grep            active
          tool-glob            disposed
          mine                 pending   waits for time, space

        Visible: what a model is sent, and which models can be asked
          tools  grep, read
          model              ready  why not
          offline/retrieval  yes    new sessions use it

        Used: this folder has no sessions yet

        Checks: 2 need attention
          ok         home           ROOT/home can be written
          ok         sessions       0 logs, 0 bytes in ROOT/home/sessions
          ok         credentials    none are kept; the environment's are used
          ok         environment    the program's own; the home has no `.env`
          ATTENTION  configuration  0 errors, 1 warning; `dsh-ls config check` says what is wrong
                     ROOT/home/cordis.patch.yml:1:8: tool-grep
          ok         workspace      ROOT/work can be read
          ATTENTION  plugins        12 active, 1 not; see above
                     mine: pending
          ok         model          offline/retrieval, which new sessions use, is ready
          ok         logs           0 logs of this folder read
    "#]]
    .assert_eq(&format!("{}\n", report.join("\n")));
}

#[test]
fn json_has_the_same_facts() {
    let world = World::new();
    write(&world, "home/cordis.patch.yml", "- {id: tool-grep, disabled: true}\n");
    let report = report(&world, &[]);
    assert_eq!(attention(&report), Vec::<&str>::new(), "{report:#}");
    let keys: Vec<&String> = report.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["workspace", "home", "profile", "ok", "checks", "composed", "active", "visible", "used"]
    );
    assert_eq!((&report["workspace"], &report["home"]), (&json!("ROOT/work"), &json!("ROOT/home")));
    assert_eq!(report["profile"], "editor");
    let patch = "ROOT/home/cordis.patch.yml";
    assert_eq!(
        *of(&report["composed"], "id", "tool-grep"),
        json!({
            "id": "tool-grep", "name": "tool-grep", "disabled": true,
            "origin": "bundle dsh-base", "patchedBy": [patch],
        })
    );
    let active = |id| of(&report["active"], "id", id).clone();
    assert_eq!(active("tool-grep")["state"], "disposed");
    let fs = json!({
        "id": "fs", "name": "fs", "state": "active",
        "waitingFor": [], "provides": ["fs", "search"], "error": null,
    });
    assert_eq!(active("fs"), fs);
    let tools = report["visible"]["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("read")) && !tools.contains(&json!("grep")), "{tools:?}");
    let default = of(&report["visible"]["models"], "model", "retrieval");
    assert_eq!((&default["default"], &default["ready"]), (&json!(true), &json!(true)));
    assert_eq!(report["used"]["sessions"], 0);
}

#[test]
fn what_was_used_is_counted_from_this_folders_logs_and_nothing_is_appended_to_them() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let call = "call read {\"file_path\":\"a.txt\"}\n---\nsay It says alpha.";
    let model = world.model(Script::parse(call));
    for _ in 0..2 {
        let output = world.run(["run", "--quiet", "--model", &model, "What is in a.txt?"]);
        assert!(output.status.success());
    }
    let elsewhere = world.root().join("elsewhere").display().to_string();
    fs::create_dir(&elsewhere).unwrap();
    let logs = || world.logs().iter().map(|log| fs::read(log).unwrap()).collect::<Vec<_>>();
    let before = logs();
    let root = world.root().display().to_string();
    let used = report(&world, &[])["used"].clone();
    assert_eq!(
        used,
        json!({
            "sessions": 2, "older": 0, "tools": { "read": 2 }, "models": { model.replace(&root, "ROOT"): 4 },
            "unreadable": [],
        })
    );
    assert_eq!(report(&world, &["--workspace", &elsewhere])["used"]["sessions"], 0);
    let (_, text) = text(&world, &[]);
    let said = "Used: what the logs of this folder say; sessions: 2\n";
    let (_, text) = text.split_once(said).unwrap();
    assert!(text.contains("  read  2\n"), "{text}");
    assert_eq!(logs(), before);
    assert_eq!(
        check(&report(&world, &[]), "sessions")["text"].as_str().unwrap().split(',').next(),
        Some("2 logs")
    );
}

#[test]
fn a_log_that_cannot_be_read_is_named() {
    let world = World::new();
    let model = world.model(Script::new().say("Yes."));
    for _ in 0..2 {
        assert!(world.run(["run", "--quiet", "--model", &model, "Is it?"]).status.success());
    }
    world.leave_damaged();
    let log = world.logs()[0].clone();
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let damaged = [&[lines[0], "{\"seq\": oops"], &lines[2..]].concat().join("\n");
    fs::write(&log, damaged).unwrap();
    let report = report(&world, &[]);
    assert_eq!(attention(&report), ["logs"], "{report:#}");
    assert_eq!(report["used"]["sessions"], 1, "the other one is counted");
    let details = check(&report, "logs")["details"].to_string();
    assert!(details.contains(log.file_stem().unwrap().to_str().unwrap()), "{details}");
}

#[test]
fn no_value_is_printed_wherever_a_key_was_put() {
    let world = World::new();
    let patch = "- id: llm-openai\n  merge: {apiKey: sk-SECRET1, retry: {maxRetries: sk-SECRET2}}\n- id: llm-local\n  merge: {baseUrl: 'http://127.0.0.1:9/v1?key=SECRET3', apiKey: sk-SECRET4}\n- id: system-prompt\n  config: {persona: SECRET5, sekrit: SECRET6}\n- id: agent-default-model\n  config: {provider: openai, model: m}\n- id: llm-deepseek\n  merge: {baseUrl: 'http://user:SECRET7@127.0.0.1:9'}\n";
    write(&world, "home/cordis.patch.yml", patch);
    write(&world, "home/.env", "MINE=SECRET8\nPATH=SECRET9\n");
    let credentials =
        write(&world, "home/credentials.yml", "OPENAI_API_KEY: SECRET10\nX SECRET11\n");
    let say = |arguments: &[&str]| {
        let mut command = world.command(["doctor"].iter().chain(arguments));
        command.env("DEEPSEEK_API_KEY", "SECRET12");
        command.env("OPENAI_API_KEY", "two SECRET13 words");
        finish(&world, command).1
    };
    let mut said = say(&[]) + &say(&["--json"]);
    assert!(said.contains("ATTENTION  environment") && said.contains("line 2"), "{said}");
    fs::remove_file(world.home().join(".env")).unwrap();
    said += &(say(&[]) + &say(&["--json"]));
    assert!(said.contains("llm-openai.retry.maxRetries"), "{said}");
    let without =
        patch.replace(", retry: {maxRetries: sk-SECRET2}", "").replace(", sekrit: SECRET6", "");
    write(&world, "home/cordis.patch.yml", &without);
    for mode in [0o600, 0o644] {
        fs::set_permissions(&credentials, fs::Permissions::from_mode(mode)).unwrap();
        said += &(say(&[]) + &say(&["--json"]));
    }
    fs::write(&credentials, "OPENAI_API_KEY: SECRET10\n").unwrap();
    fs::set_permissions(&credentials, fs::Permissions::from_mode(0o600)).unwrap();
    said += &(say(&[]) + &say(&["--json"]));
    assert!(said.contains("keeps 1, for its owner alone"), "{said}");
    let leaked: Vec<&str> = said.lines().filter(|line| line.contains("SECRET")).collect();
    assert!(leaked.is_empty(), "{leaked:#?}");
}

#[test]
fn a_broken_configuration_is_reported_with_its_places_and_nothing_is_mounted() {
    let world = World::new();
    write(&world, "home/cordis.patch.yml", "- id: [\n");
    let report = report(&world, &[]);
    assert_eq!(attention(&report), ["configuration", "plugins"]);
    let configuration = check(&report, "configuration");
    assert_eq!(configuration["details"], json!(["ROOT/home/cordis.patch.yml:1:7"]));
    assert!(configuration["text"].as_str().unwrap().contains("dsh-ls config check"));
    assert_eq!(report["composed"], Value::Null);
    assert_eq!(report.get("active"), None);
    assert_eq!(report["notMounted"], "the configuration has errors");
    let (code, text) = text(&world, &[]);
    assert_eq!(code, 1);
    assert!(text.contains("Composed: unknown") && text.contains("Checks: 2 need"), "{text}");
}

#[test]
fn rows_that_do_not_run_are_named_with_their_reasons() {
    let world = World::new();
    let patch = "- insert: [{id: spare, name: tool-read}, {id: idle, name: tool-grep, inject: [time]}, {id: gone, name: tool-gerp}]\n- id: llm-openai\n  merge: {dialect: klingon}\n";
    write(&world, "home/cordis.patch.yml", patch);
    let report = report(&world, &[]);
    assert_eq!(attention(&report), ["configuration", "plugins"]);
    let row = |id| of(&report["active"], "id", id);
    assert_eq!(
        (&row("spare")["state"], &row("gone")["state"]),
        (&json!("failed"), &json!("failed"))
    );
    assert!(row("spare")["error"].as_str().unwrap().contains("`read`"), "{}", row("spare"));
    assert!(row("gone")["error"].as_str().unwrap().contains("tool-gerp"), "{}", row("gone"));
    assert_eq!(
        (&row("idle")["state"], &row("idle")["waitingFor"]),
        (&json!("pending"), &json!(["time"]))
    );
    let details = &check(&report, "plugins")["details"];
    assert_eq!(
        *details,
        json!(["llm-openai: failed", "spare: failed", "idle: pending", "gone: failed"])
    );
    let report = {
        write(&world, "home/cordis.patch.yml", "- {id: llm, disabled: true}\n");
        self::report(&world, &[])
    };
    assert!(report["notMounted"].as_str().unwrap().contains("llm"), "{}", report["notMounted"]);
}

#[test]
fn a_folder_that_is_not_there_and_a_home_that_cannot_be_written_need_attention() {
    let world = World::new();
    let missing = report(&world, &["--workspace", "nowhere"]);
    assert_eq!(attention(&missing), ["workspace", "plugins"]);
    assert!(missing["notMounted"].as_str().unwrap().contains("ROOT/work/nowhere"), "{missing:#}");
    world.file("file", "");
    let not_a_folder = report(&world, &["--workspace", "file"]);
    assert_eq!(attention(&not_a_folder), ["workspace", "plugins"]);
    let home = report(&world, &["--home", "/proc/nowhere"]);
    assert_eq!(attention(&home), ["home"], "{home:#}");
    assert!(check(&home, "home")["text"].as_str().unwrap().contains("--home"));
    let home = report(&world, &["--home", "file/home"]);
    assert_eq!(attention(&home)[0], "home");
    assert!(!world.home().exists(), "a report makes no home");
    let twice = world.run(["doctor", "--workspace", ".", "--workspace", "."]);
    assert_eq!((twice.status.code(), twice.stdout.len()), (Some(2), 0));
}

#[test]
fn keys_that_others_can_read_or_nobody_can_need_attention() {
    let world = World::new();
    let credentials = write(&world, "home/credentials.yml", "OPENAI_API_KEY: k\n");
    let said = || {
        let report = report(&world, &[]);
        let check = check(&report, "credentials");
        (check["ok"] == true, check["text"].as_str().unwrap().to_owned())
    };
    fs::set_permissions(&credentials, fs::Permissions::from_mode(0o640)).unwrap();
    let open =
        (false, "others can read ROOT/home/credentials.yml; run `chmod 600` on it".to_owned());
    assert_eq!(said(), open);
    fs::set_permissions(&credentials, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(said().0);
    fs::write(&credentials, "[not, names]\n").unwrap();
    let (is_fine, text) = said();
    assert!(!is_fine && text.contains("credentials.yml"), "{text}");
    fs::write(&credentials, [0xff, 0xfe, 0]).unwrap();
    assert!(!said().0);
    fs::remove_file(&credentials).unwrap();
    fs::create_dir(&credentials).unwrap();
    assert_eq!(said(), (false, "ROOT/home/credentials.yml is no file; move it away".to_owned()));
}

#[test]
fn the_model_that_new_sessions_use_is_ready_or_the_reason_is_said() {
    let world = World::new();
    write(
        &world,
        "home/cordis.patch.yml",
        "- id: agent-default-model\n  config: {provider: deepseek, model: deepseek-v4-pro}\n",
    );
    let asked = report(&world, &[]);
    assert_eq!(attention(&asked), ["model"]);
    assert!(check(&asked, "model")["text"].as_str().unwrap().contains("DEEPSEEK_API_KEY"));
    let mut command = world.command(["doctor", "--json"]);
    let (code, text) = finish(&world, {
        command.env("DEEPSEEK_API_KEY", "k");
        command
    });
    assert_eq!(code, 0, "{text}");
    let unknown = report(&world, &["--model", "nobody/x"]);
    assert!(check(&unknown, "model")["text"].as_str().unwrap().contains("`nobody`"));
}

#[test]
fn a_row_that_names_what_nobody_has_needs_attention() {
    let world = World::new();
    write(&world, "home/cordis.patch.yml", "- id: tool-subagent\n  merge: {provider: zzz}\n");
    let report = report(&world, &[]);
    assert_eq!(attention(&report), ["plugins"]);
    let details = check(&report, "plugins")["details"].to_string();
    assert!(details.contains("tool-subagent: `provider` names `zzz`"), "{details}");
    assert!(details.contains("there are fork,"), "{details}");
}
