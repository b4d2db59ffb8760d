//! `dsh-ls run`: one question, one answer. The answer goes to standard output, everything else to standard
//! error.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use dsh_protocol::content::ContentBlock;
use dsh_protocol::ids::{ModelId, SessionId};
use dsh_protocol::params::session::Delivery;
use dsh_protocol::turn::{Budget, NoTurn, Outcome, TurnEnd};
use dsh_runtime::agent::agent::{Agent, Prompt};
use dsh_runtime::agent::agents::NewSession;
use dsh_runtime::agent::commands::{CommandOutcome, Commands};
use dsh_runtime::agent::wait::{Waited, wait};
use dsh_runtime::runtime::Runtime;
use dsh_runtime::workspace::Workspace;

use crate::cli::{RunArgs, complain};
use crate::signals::Signals;
use following::{Following, in_background, one_came_out};
use printer::{Printer, progress};

mod following;
mod printer;

/// The turn failed.
const FAILED: u8 = 1;
/// The turn was cut, ran into a budget or was blocked.
const CUT: u8 = 3;
/// A person interrupted it.
const INTERRUPTED: u8 = 130;

pub(crate) async fn run(runtime: Runtime, args: RunArgs) -> ExitCode {
    let outcome = ask(&runtime, &args).await;
    let ended = runtime.close().await;
    if let Err(unwritten) = &ended {
        complain(&unwritten.to_string());
    }
    match outcome {
        Ok(0) if ended.is_err() => ExitCode::from(FAILED),
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::from(crate::BAD_USAGE)
        }
    }
}

async fn ask(runtime: &Runtime, args: &RunArgs) -> anyhow::Result<u8> {
    if args.server.workspace.len() > 1 {
        bail!("a question is about one folder; give --workspace once");
    }
    let text = prompt_text(args.prompt.as_deref())?;
    let folder = args.server.workspace.first().map(std::path::absolute).transpose()?;
    let folder = folder.as_deref().map(|folder| folder.to_string_lossy().into_owned());
    let workspace = runtime.workspace(folder.as_deref()).await?;
    if let Some(name) = &args.server.model
        && let Some(model) = ModelId::parse(name)
        && workspace.models().await?.adapter(&model.provider).is_none()
    {
        bail!("no adapter serves the provider `{}`", model.provider);
    }
    let commands = if text.starts_with('/') { Some(commands(&workspace, &text)?) } else { None };
    let agent = session(&workspace, args).await?;
    if !args.quiet {
        announce(&workspace, &agent).await?;
    }
    let mut signals = Signals::listen()?;
    if let Some(commands) = commands {
        return tokio::select! {
            outcome = commands.run(agent, &text) => said(&outcome?),
            () = signals.next() => Ok(INTERRUPTED),
        };
    }
    let after = agent.log().last_seq();
    let earlier = in_background(&agent, &BTreeSet::new());
    let prompt = Prompt {
        content: vec![ContentBlock::Text { text }],
        delivery: Delivery::Followup,
        client_message_id: None,
    };
    let receipt = agent.prompt(prompt).await?;
    let printer = Printer::new(args, after);
    let mut following = Following { agent, signals, printer, interrupted: false };
    let message = Some(&receipt.message_id);
    let Some(mut waited) = following.follow(async |agent| wait(agent, message).await).await? else {
        return Ok(following.give_up());
    };
    // What subagents find that were left to work in the background is part of the answer.
    while following.goes_on(&waited) && !in_background(&following.agent, &earlier).is_empty() {
        following.say_what_is_waited_for(&earlier);
        let came_out = following.follow(async |agent| one_came_out(agent, &earlier).await);
        let Some(()) = came_out.await? else { return Ok(following.give_up()) };
        let Some(last) = following.follow(async |agent| wait(agent, None).await).await? else {
            return Ok(following.give_up());
        };
        waited = last;
    }
    // Everything up to the turn's end is on disk before the process says that it is done.
    let _ = wait(&following.agent, None).await;
    let Following { agent, mut printer, interrupted, .. } = following;
    printer.print(&agent);
    Ok(conclude(printer, &waited, interrupted))
}

/// The commands of a folder, if one of them is what the text names.
fn commands(workspace: &Workspace, text: &str) -> anyhow::Result<Arc<Commands>> {
    let Some(commands) = workspace.commands() else {
        bail!("no commands can be run here; enable the row `commands`");
    };
    commands.named(text)?;
    Ok(commands)
}

/// Says how a command came out.
fn said(outcome: &CommandOutcome) -> anyhow::Result<u8> {
    if outcome.ok {
        crate::cli::print(&format!("{}\n", outcome.text))?;
        return Ok(0);
    }
    complain(&outcome.text);
    Ok(FAILED)
}

/// The prompt, from the command line or from standard input.
fn prompt_text(prompt: Option<&str>) -> anyhow::Result<String> {
    let text = match prompt {
        Some(prompt) if prompt != "-" => prompt.to_owned(),
        None if std::io::stdin().is_terminal() => bail!("say what to ask: dsh-ls run PROMPT"),
        Some(_) | None => {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text).context("cannot read the prompt")?;
            text
        }
    };
    if text.trim().is_empty() {
        bail!("the prompt is blank");
    }
    Ok(text)
}

/// The session to go on with, or a new one.
async fn session(workspace: &Arc<Workspace>, args: &RunArgs) -> anyhow::Result<Agent> {
    let agents = workspace.agents().await?;
    if let Some(id) = &args.session {
        let id = SessionId::from(id.as_str());
        if !id.is_choosable() {
            bail!("there is no session `{id}`");
        }
        return Ok(agents.open(&id).await?);
    }
    if args.r#continue {
        let sessions = agents.list().await?;
        let newest = sessions.into_iter().find(|session| session.origin.is_none());
        let newest = newest.ok_or_else(|| anyhow!("this folder has no session to go on with"))?;
        return Ok(agents.open(&newest.session_id).await?);
    }
    Ok(agents.create(NewSession::default()).await?)
}

/// Says which model is asked and which others could be.
async fn announce(workspace: &Workspace, agent: &Agent) -> anyhow::Result<()> {
    let model = agent.info().await?.model;
    let mut line = format!("session {}, model {model}", agent.id());
    let others: Vec<String> = workspace
        .models()
        .await?
        .list(&model)
        .await
        .into_iter()
        .filter(|other| other.ready && !other.default)
        .map(|other| format!("{}/{}", other.provider, other.model))
        .collect();
    if !others.is_empty() {
        let _ = write!(line, " (also ready: {}; choose with --model)", others.join(", "));
    }
    progress(&line);
    Ok(())
}

fn conclude(mut printer: Printer, waited: &Waited, interrupted: bool) -> u8 {
    if !waited.text.is_empty() && printer.answers.last() != Some(&waited.text) {
        printer.answers.push(waited.text.clone());
    }
    if let Err(failed) = printer.finish() {
        return failed;
    }
    let (code, complaint) = match &waited.outcome {
        Outcome::Turn(end) => of_turn(end, interrupted),
        Outcome::NoTurn(NoTurn::Rejected { reason }) => (CUT, Some(reason.clone())),
        Outcome::NoTurn(NoTurn::Failed { reason }) => (FAILED, Some(reason.clone())),
        Outcome::NoTurn(NoTurn::Discarded) if interrupted => (INTERRUPTED, None),
        Outcome::NoTurn(NoTurn::Discarded | NoTurn::Idle | NoTurn::Pending | NoTurn::Parked) => {
            (FAILED, Some("the question was not answered".to_owned()))
        }
    };
    if let Some(complaint) = complaint {
        complain(&complaint);
    }
    code
}

/// The exit code for a turn's end, and what a person should know of it.
fn of_turn(end: &TurnEnd, interrupted: bool) -> (u8, Option<String>) {
    match end {
        TurnEnd::Completed => (0, None),
        TurnEnd::MaxTokens => (CUT, Some("the answer was cut at the model's limit".to_owned())),
        TurnEnd::Limit { what } => {
            let what = match what {
                Budget::Steps => "steps",
                Budget::Time => "minutes",
                Budget::Tokens => "tokens",
                Budget::StoppingRounds => "stoppingRounds",
            };
            (CUT, Some(format!("the turn has used up its budget of {what}; `--continue` goes on")))
        }
        TurnEnd::Blocked => (CUT, Some("the turn was blocked".to_owned())),
        TurnEnd::Error { error } => (FAILED, Some(format!("{}: {}", error.code, error.message))),
        TurnEnd::Aborted { .. } if interrupted => (INTERRUPTED, None),
        TurnEnd::Aborted { .. } | TurnEnd::Interrupted => {
            (FAILED, Some("the turn did not complete".to_owned()))
        }
    }
}
