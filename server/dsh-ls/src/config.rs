//! `dsh-ls config dump|check|set`: the configuration as the command line sees it. `check` starts the rows on trial; nothing
//! else is mounted.

use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;

use anyhow::bail;
use dsh_runtime::config::compose::{Composed, compose};
use dsh_runtime::config::dump::{DumpOptions, dump as print_rows};
use dsh_runtime::config::environment_file;
use dsh_runtime::config::problem::{self, Problem, Severity};
use dsh_runtime::config::setting::Setting;
use dsh_runtime::config::source::Source;
use dsh_runtime::config::yaml::{self, Content, Node, Style};
use dsh_runtime::kernel::config::KeyPath;
use dsh_runtime::reload::ConfigSetError;
use dsh_runtime::runtime::{EDITOR_PROFILE, Runtime, RuntimeConfig};
use serde_json::Value;

use crate::cli::{self, CheckArgs, ConfigCommand, DumpArgs, SetArgs, complain, printable};
use crate::{BAD_USAGE, Folders, logging};

pub(crate) fn run(command: ConfigCommand) -> anyhow::Result<ExitCode> {
    match command {
        ConfigCommand::Dump(args) => dump(&args),
        ConfigCommand::Check(args) => check(&args),
        ConfigCommand::Set(args) => set(&args),
    }
}

/// The layers and everything that is wrong with them and with the environment that they are read in.
pub(crate) fn layers(config: &RuntimeConfig) -> (Composed, Vec<Problem>) {
    let composed = compose(&config.sources);
    let mut problems = composed.problems.clone();
    let environment = environment_file::load(&config.sources, config.variables.clone());
    problems.extend(environment.err().into_iter().flatten());
    problem::sort(&mut problems);
    (composed, problems)
}

fn dump(args: &DumpArgs) -> anyhow::Result<ExitCode> {
    logging::start(args.server.log.as_deref())?;
    let (composed, problems) = layers(&crate::runtime_config(&args.server, EDITOR_PROFILE)?);
    for problem in &problems {
        complain(&printable(&problem.to_string()));
    }
    if problems.iter().any(Problem::is_error) {
        return Ok(ExitCode::from(BAD_USAGE));
    }
    let options = DumpOptions { origin: args.origin, default: args.default };
    cli::print(&print_rows(&composed, options))?;
    Ok(ExitCode::SUCCESS)
}

fn check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    logging::start(args.server.log.as_deref())?;
    let config = crate::runtime_config(&args.server, EDITOR_PROFILE)?;
    let (_, mut problems) = layers(&config);
    let mut rows_are_checked = false;
    // Rows of layers with errors are not what anybody meant.
    let runtime = Runtime::new(config);
    if let Ok(composition) = runtime.composition() {
        for folder in crate::folders(&args.server, Folders::OrCurrent)? {
            let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
            problems.extend(crate::block_on(runtime.problems_on_trial(&composition, &folder))?);
        }
        rows_are_checked = true;
    }
    problem::sort(&mut problems);
    let mut text = String::new();
    for problem in &problems {
        let _ = writeln!(text, "{problem}");
    }
    let errors = count(&problems, Severity::Error);
    let warnings = count(&problems, Severity::Warning);
    let _ = write!(text, "{}, {}", counted(errors, "error"), counted(warnings, "warning"));
    text.push_str(if rows_are_checked { "\n" } else { "; mend them to have the rows checked\n" });
    cli::print(&printable(&text))?;
    Ok(if errors == 0 { ExitCode::SUCCESS } else { ExitCode::from(BAD_USAGE) })
}

/// How many problems are of a severity.
pub(crate) fn count(problems: &[Problem], severity: Severity) -> usize {
    problems.iter().filter(|problem| problem.severity == severity).count()
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn set(args: &SetArgs) -> anyhow::Result<ExitCode> {
    logging::start(args.server.log.as_deref())?;
    let config = crate::runtime_config(&args.server, EDITOR_PROFILE)?;
    let file = config.sources.home_patch();
    let (row, path) = target(&compose(&config.sources), &args.key)?;
    let value = read_value(&args.value)?;
    let before = fs::read(&file).ok();
    let runtime = crate::runtime(&args.server, Folders::OrCurrent, EDITOR_PROFILE)?;
    let refused = match crate::block_on(runtime.set_config(&row, &path, &value))? {
        Ok(_) => {
            let changed = fs::read(&file).ok() != before;
            let did = if changed { "changed" } else { "nothing to change in" };
            cli::print(&format!("{did} {}\n", file.display()))?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(ConfigSetError::Problems(problems)) => problems,
        Err(error) => bail!("{}: {error}", file.display()),
    };
    for problem in &refused {
        complain(&printable(&problem.to_string()));
    }
    complain(&format!("{} is as it was", file.display()));
    Ok(ExitCode::from(BAD_USAGE))
}

/// The row and the key that a person means. A row's id may have dots in it.
fn target(composed: &Composed, name: &str) -> anyhow::Result<(String, KeyPath)> {
    let split = |(at, _)| (&name[..at], &name[at + 1..]);
    let mut ways = name.rmatch_indices('.').map(split);
    let known = ways.find(|(row, _)| composed.row(row).is_some());
    match known.or_else(|| name.split_once('.')) {
        Some((row, key)) if !row.is_empty() && !key.is_empty() => {
            Ok((row.to_owned(), KeyPath::from(key)))
        }
        _ => bail!("`{name}` is not ROW.KEY: name a row and a key of its configuration"),
    }
}

/// A value as it is typed: YAML where it is a scalar or stands in brackets or quotes, else the text itself.
fn read_value(text: &str) -> anyhow::Result<Value> {
    let source = Source::built_in("VALUE", text);
    let node = match yaml::parse(&source) {
        Ok(Some(node)) => node,
        Err(problem) if text.trim_start().starts_with(['[', '{', '"', '\'']) => {
            bail!("{}", printable(&problem.to_string()))
        }
        Ok(None) | Err(_) => return Ok(text.into()),
    };
    if is_expression(&node) {
        bail!("`{text}` is an expression; write it into the file by hand");
    }
    Ok(match (&node.value, node.style) {
        // What only a file would take for more than a word: `a: b`, `- a`, `a # b`.
        (Content::String(_), Style::Plain) | (_, Style::Block | Style::Alias) => text.into(),
        _ => Setting::read_literal(&node, "", &mut Vec::new()),
    })
}

fn is_expression(node: &Node) -> bool {
    node.tag.is_some()
        || match &node.value {
            Content::List(items) => items.iter().any(is_expression),
            Content::Map(entries) => entries.iter().any(|entry| is_expression(&entry.value)),
            Content::Null | Content::Bool(_) | Content::Number(_) | Content::String(_) => false,
        }
}
