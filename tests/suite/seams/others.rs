//! Commands and subagents: other registries, which rows add to all the same.

use std::sync::Arc;

use dsh_agent::commands::{COMMANDS, Command, CommandCall, CommandOutcome, Commands};
use dsh_agent::host::HOST;
use dsh_agent::subagents::{SUBAGENTS, Subagents};
use dsh_kernel::Context;
use dsh_kernel::plugin::Plugin;
use dsh_protocol::params::command::CommandInfo;
use dsh_session::store::BoxFuture;
use serde_json::Value;

use super::{Started, swap};

/// A command that says how late it is.
struct Clock(CommandInfo);

impl Command for Clock {
    fn info(&self) -> &CommandInfo {
        &self.0
    }

    fn run(&self, _call: CommandCall) -> BoxFuture<'static, CommandOutcome> {
        Box::pin(async { CommandOutcome { ok: true, text: "Noon.".to_owned() } })
    }
}

fn start_clock(context: Context, _: Value) -> Started {
    Box::pin(async move {
        let commands = Commands::default();
        let info = CommandInfo {
            name: "clock".to_owned(),
            description: "Says how late it is.".to_owned(),
            arguments: String::new(),
        };
        context.keep(commands.register(Arc::new(Clock(info)))?)?;
        context.provide(&COMMANDS, Arc::new(commands))
    })
}

#[tokio::test]
async fn another_registry_of_commands_is_what_rows_add_to_and_people_type_into() {
    let plugin = Plugin { provides: &["commands"], ..Plugin::new("clock", start_clock) };
    let swapped = swap("commands", plugin).await;
    let commands = swapped.kernel.get(&COMMANDS).unwrap();
    let agent = swapped.session().await;
    assert_eq!(commands.run(agent.clone(), "/clock").await.unwrap().text, "Noon.");
    assert!(commands.named("/deliberate why?").is_ok(), "rows add to it");
    swapped.close().await;
}

fn start_nursery(context: Context, _: Value) -> Started {
    Box::pin(async move {
        let subagents = Subagents::new(context.get(&HOST)?, context.hooks().clone());
        context.provide(&SUBAGENTS, Arc::new(subagents))
    })
}

#[tokio::test]
async fn another_registry_of_subagents_is_what_providers_add_to() {
    let plugin = Plugin {
        inject: &["host"],
        provides: &["subagents"],
        ..Plugin::new("nursery", start_nursery)
    };
    let swapped = swap("subagents", plugin).await;
    let subagents = swapped.kernel.get(&SUBAGENTS).unwrap();
    assert!(subagents.provider("spawn").is_some(), "{:?}", subagents.names());
    swapped.close().await;
}
