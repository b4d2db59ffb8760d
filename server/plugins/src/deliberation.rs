//! Row `tool-deliberation`: rounds of isolated child agents at a fork in the road, asked for by the model with a
//! tool or by a person, and masked reviews of turns.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::agents::AGENTS;
use dsh_agent::commands::COMMANDS;
use dsh_agent::deliberation::{DELIBERATION, Deliberation};
use dsh_agent::files::FS;
use dsh_agent::hooks::SESSION_CLOSING;
use dsh_agent::host::HOST;
use dsh_agent::names::Names;
use dsh_agent::prompt::SYSTEM_PROMPT;
use dsh_agent::sessions::SESSIONS;
use dsh_agent::subagents::SUBAGENTS;
use dsh_agent::subagents::provider::{PROVIDER_ADDED, PROVIDER_REMOVED};
use dsh_agent::tools::TOOLS;
use dsh_kernel::Context;
use dsh_kernel::hooks::Position;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_llm::models::LLM;
use futures_util::future::BoxFuture;
use serde_json::Value;

use command::DeliberateCommand;
use config::Config;
use gate::Gate;
use review::command::ReviewCommand;
use round::Services;
use rounds::Rounds;
use tool::Deliberate;

mod arguments;
mod branch;
mod child;
mod command;
mod config;
mod definition;
mod gate;
mod left;
mod outcome;
mod packet;
mod prompts;
mod refs;
mod review;
mod round;
mod rounds;
mod running;
mod shown;
mod text;
mod tool;
mod window;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["subagents", "systemPrompt", "tools", "agents", "sessions", "host"],
    optional: &["fs", "commands", "llm"],
    provides: &["deliberation"],
    config: config::SPEC,
    ..Plugin::new("dsh-deliberation", start)
};

/// How long rounds may take to come out when everything is shut down.
const CLOSE: Duration = Duration::from_secs(3);

fn start(context: Context, config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let services = Arc::new(Services {
            host: context.get(&HOST)?,
            agents: context.get(&AGENTS)?,
            sessions: context.get(&SESSIONS)?,
            subagents: context.get(&SUBAGENTS)?,
            tools: context.get(&TOOLS)?,
            files: context.optional(&FS)?,
            config,
        });
        let names = Names {
            subagents: Arc::clone(&services.subagents),
            tools: Arc::clone(&services.tools),
            models: context.optional(&LLM)?,
        };
        let asked = services.config.clone();
        context.report_missing(move || asked.missing(&names));
        let gate = Arc::new(Gate::new(
            services.config.clone(),
            Arc::clone(&services.subagents),
            Arc::clone(&services.tools),
            context.get(&SYSTEM_PROMPT)?,
        ));
        let rounds = Rounds::new(services, Arc::clone(&gate));
        end_with(&context, &rounds)?;
        end_with_session(&context, &rounds)?;
        follow(&context, &gate)?;
        review::listen(&context, &rounds.reviews)?;
        left::listen(&context, &rounds)?;
        gate.open(Arc::new(Deliberate::new(Arc::clone(&rounds)))).map_err(StartError::Failed)?;
        if let Some(commands) = context.optional(&COMMANDS)? {
            let command = Arc::new(DeliberateCommand::new(Arc::clone(&rounds)));
            context.keep(commands.register(command)?)?;
            let command = Arc::new(ReviewCommand::new(Arc::clone(&rounds.reviews)));
            context.keep(commands.register(command)?)?;
        }
        context.provide(&DELIBERATION, rounds as Arc<dyn Deliberation>)
    })
}

/// Rounds outlive a replacement of the row, which concerns those that come; when everything is shut down they are
/// cancelled and awaited.
fn end_with(context: &Context, rounds: &Arc<Rounds>) -> Result<(), StartError> {
    let rounds = Arc::clone(rounds);
    context.on_dispose_within("running rounds", CLOSE * 2, move |why| async move {
        if why.is_shutdown() && tokio::time::timeout(CLOSE, rounds.close(None)).await.is_err() {
            tracing::error!("rounds did not end in time");
        }
    })?;
    Ok(())
}

/// What runs for a session ends with it.
fn end_with_session(context: &Context, rounds: &Arc<Rounds>) -> Result<(), StartError> {
    let rounds = Arc::clone(rounds);
    SESSION_CLOSING.listen(context, Position::Last, move |closing| {
        let rounds = Arc::clone(&rounds);
        async move {
            let closed = tokio::time::timeout(CLOSE, rounds.close(Some(&closing.session_id))).await;
            closed.map_err(|_| "rounds and reviews did not end in time".to_owned())
        }
    })?;
    Ok(())
}

/// Puts the tool up and takes it down as providers come and go.
fn follow(context: &Context, gate: &Arc<Gate>) -> Result<(), StartError> {
    let closing = Arc::clone(gate);
    context
        .on_dispose(&format!("`{}`", gate.tool_name()), move |_| async move { closing.close() })?;
    for hook in [&PROVIDER_ADDED, &PROVIDER_REMOVED] {
        let gate = Arc::clone(gate);
        hook.listen(context, Position::Last, move |changed| {
            let gate = Arc::clone(&gate);
            async move {
                gate.changed(&changed.name);
                Ok(())
            }
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
