//! Row `session-commands`: `/model` and `/export`.

use std::sync::Arc;

use dsh_agent::commands::{COMMANDS, Command, CommandCall, CommandOutcome};
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_llm::models::{LLM, Models};
use dsh_protocol::ids::ModelId;
use dsh_protocol::params::command::CommandInfo;
use dsh_session::export;
use dsh_session::store::BoxFuture;
use futures_util::future::BoxFuture as Started;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin =
    Plugin { inject: &["commands", "llm"], ..Plugin::new("session-commands", start) };

/// How much text a command shows: more is a file's business.
const TEXT_MOST: usize = 8 << 20;

fn start(context: Context, _config: Value) -> Started<'static, Result<(), StartError>> {
    Box::pin(async move {
        let commands = context.get(&COMMANDS)?;
        let models = context.get(&LLM)?;
        let model = info("model", "Says which model is asked, or chooses another one.", "[MODEL]");
        context.keep(commands.register(Arc::new(ModelCommand { info: model, models }))?)?;
        let export = info("export", "Shows the whole session as text.", "[markdown|jsonl]");
        context.keep(commands.register(Arc::new(ExportCommand { info: export }))?)?;
        Ok(())
    })
}

fn info(name: &str, description: &str, arguments: &str) -> CommandInfo {
    CommandInfo {
        name: name.to_owned(),
        description: description.to_owned(),
        arguments: arguments.to_owned(),
    }
}

/// `/model [PROVIDER/MODEL]`.
struct ModelCommand {
    info: CommandInfo,
    models: Arc<Models>,
}

impl Command for ModelCommand {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    fn run(&self, call: CommandCall) -> BoxFuture<'static, CommandOutcome> {
        Box::pin(model(Arc::clone(&self.models), call))
    }
}

async fn model(models: Arc<Models>, call: CommandCall) -> CommandOutcome {
    let CommandCall { agent, arguments, .. } = call;
    if arguments.is_empty() {
        return match agent.info().await {
            Ok(session) => CommandOutcome { ok: true, text: session.model.to_string() },
            Err(error) => CommandOutcome::failed(error.to_string()),
        };
    }
    let Some(model) = ModelId::parse(&arguments) else {
        return CommandOutcome::failed(format!("`{arguments}` is not PROVIDER/MODEL"));
    };
    if models.adapter(&model.provider).is_none() {
        let provider = &model.provider;
        return CommandOutcome::failed(format!("no adapter serves the provider `{provider}`"));
    }
    let text = format!("{model} is asked from the next turn on");
    match agent.set_model(model).await {
        Ok(()) => CommandOutcome { ok: true, text },
        Err(error) => CommandOutcome::failed(error.to_string()),
    }
}

/// `/export [markdown|jsonl]`.
struct ExportCommand {
    info: CommandInfo,
}

impl Command for ExportCommand {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    fn run(&self, call: CommandCall) -> BoxFuture<'static, CommandOutcome> {
        Box::pin(async move {
            let log = Arc::clone(call.agent.log());
            let written = tokio::task::spawn_blocking(move || match call.arguments.as_str() {
                "" | "markdown" => Ok(export::markdown(&log)),
                "jsonl" => {
                    let mut bytes = Vec::new();
                    let written = export::jsonl(&log, &mut bytes);
                    written.map_err(|error| error.to_string())?;
                    String::from_utf8(bytes).map_err(|error| error.to_string())
                }
                other => Err(format!("`{other}` is neither `markdown` nor `jsonl`")),
            });
            match written.await {
                Ok(Ok(text)) if text.len() <= TEXT_MOST => CommandOutcome { ok: true, text },
                Ok(Ok(_)) => CommandOutcome::failed(
                    "the session is too long to be shown; `dsh-ls sessions export` writes it to a file",
                ),
                Ok(Err(problem)) => CommandOutcome::failed(problem),
                Err(error) => CommandOutcome::failed(error.to_string()),
            }
        })
    }
}
