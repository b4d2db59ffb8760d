//! Commands that a person types into a session: the `commands` service.

use std::sync::Arc;

use dsh_kernel::registration::Registration;
use dsh_kernel::registry::{Registry, Taken};
use dsh_kernel::service::Key;
use dsh_protocol::params::command::CommandInfo;
use dsh_session::store::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;

/// The service's name.
pub const COMMANDS: Key<Commands> = Key::new("commands");

/// Something that a person can do in a session by typing `/NAME`.
pub trait Command: Send + Sync {
    /// Its name and what it does.
    fn info(&self) -> &CommandInfo;

    /// Does it. `arguments` is what stands behind the name, without blanks around it.
    fn run(&self, call: CommandCall) -> BoxFuture<'static, CommandOutcome>;
}

/// A command as a person typed it.
#[derive(Clone)]
pub struct CommandCall {
    /// The session's agent.
    pub agent: Agent,
    /// What stands behind the name, without blanks around it.
    pub arguments: String,
    /// Fires when nobody waits for the command any more.
    pub cancel: CancellationToken,
}

/// How a command came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutcome {
    /// Whether it did what it should.
    pub ok: bool,
    /// What it has to say, for a person.
    pub text: String,
}

impl CommandOutcome {
    /// A command that could not do what it should.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { ok: false, text: text.into() }
    }
}

/// Why a line runs no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// It does not begin with a slash and a name.
    #[error("a command begins with `/` and its name")]
    NotACommand,
    /// Nobody registered the command.
    #[error("there is no command `/{name}`; there are: {}", listed(.known))]
    Unknown {
        /// The name that was typed.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`/{name}`")).collect::<Vec<_>>().join(", ")
}

/// The commands by name.
#[derive(Clone, Default)]
pub struct Commands {
    commands: Registry<Arc<dyn Command>>,
}

impl Commands {
    /// Adds a command for as long as the registration is kept.
    pub fn register(&self, command: Arc<dyn Command>) -> Result<Registration, Taken> {
        let name = command.info().name.clone();
        let registration = self.commands.register(&name, command)?;
        Ok(Registration::named(format!("`/{name}`"), move || drop(registration)))
    }

    /// The commands by name.
    pub fn list(&self) -> Vec<CommandInfo> {
        self.commands.all().iter().map(|command| command.info().clone()).collect()
    }

    /// The command that a person typed.
    pub fn named(&self, line: &str) -> Result<CommandInfo, CommandLineError> {
        self.parsed(line).map(|(command, _)| command.info().clone())
    }

    fn parsed<'a>(&self, line: &'a str) -> Result<(Arc<dyn Command>, &'a str), CommandLineError> {
        let (name, arguments) = parse(line).ok_or(CommandLineError::NotACommand)?;
        let unknown =
            || CommandLineError::Unknown { name: name.to_owned(), known: self.commands.names() };
        Ok((self.commands.get(name).ok_or_else(unknown)?, arguments))
    }

    /// Runs what a person typed, in a task of its own, so that a panic stays there. Dropping the future cancels
    /// the command.
    pub async fn run(&self, agent: Agent, line: &str) -> Result<CommandOutcome, CommandLineError> {
        let (command, arguments) = self.parsed(line)?;
        let name = command.info().name.clone();
        let cancel = CancellationToken::new();
        let _cancelled_when_dropped = cancel.clone().drop_guard();
        let call = CommandCall { agent, arguments: arguments.to_owned(), cancel };
        let running = tokio::spawn(async move { command.run(call).await });
        Ok(running.await.unwrap_or_else(|error| {
            tracing::error!(%error, name, "a command broke");
            CommandOutcome::failed("the command failed unexpectedly")
        }))
    }
}

/// The name and what stands behind it.
fn parse(line: &str) -> Option<(&str, &str)> {
    let line = line.trim().strip_prefix('/')?;
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (!name.is_empty()).then(|| (name, arguments.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_and_what_stands_behind_it() {
        assert_eq!(parse("/review"), Some(("review", "")));
        assert_eq!(parse("  /deliberate  is it\nsafe? "), Some(("deliberate", "is it\nsafe?")));
        assert_eq!(
            (parse("deliberate"), parse("/"), parse("/ a"), parse("")),
            (None, None, None, None)
        );
    }
}
