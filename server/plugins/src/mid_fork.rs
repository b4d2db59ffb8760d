//! Rows `dsh-deliberation/mid-fork-provider`: start subagents that know the turns before a window as they are, and
//! the window itself as text with a mask over it. An agent can so be asked to look at what another one did without
//! being led by why it did it.

use std::sync::Arc;

use dsh_agent::host::{HOST, Host};
use dsh_agent::subagents::SUBAGENTS;
use dsh_agent::subagents::error::StartError as Refused;
use dsh_agent::subagents::in_process::InProcess;
use dsh_agent::subagents::provider::{Capabilities, Capability, SubagentProvider, SubagentRun};
use dsh_agent::subagents::request::{History, StartRequest, Window};
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use futures_util::future::BoxFuture;
use serde_json::Value;

mod config;
mod content;
mod escape;
mod projection;
mod render;
mod window;

#[cfg(test)]
mod tests;

use config::{Config, MOST_STEPS};
use projection::{Options, project};

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["subagents", "agents", "host", "tools", "llm"],
    config: ConfigSpec::of::<Config>().and(config::problems),
    ..Plugin::new("dsh-deliberation/mid-fork-provider", start)
};

fn start(context: Context, config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let (mask, subagents) = (config.mask(), context.get(&SUBAGENTS)?);
        for (name, window) in config.providers() {
            let provider = MidFork {
                name,
                options: Options {
                    window,
                    mask,
                    max_chars: Some(config.max_snapshot_chars()),
                    max_images: Some(config.max_snapshot_images()),
                },
                children: InProcess::new(&context)?,
                host: context.get(&HOST)?,
            };
            context.keep(subagents.register(Arc::new(provider))?)?;
        }
        Ok(())
    })
}

struct MidFork {
    name: String,
    options: Options,
    children: InProcess,
    host: Arc<Host>,
}

impl SubagentProvider for MidFork {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            inherits_parent_context: true,
            supports: &[
                Capability::OutputSchema,
                Capability::DepthLimit,
                Capability::ToolFilter,
                Capability::Persona,
                Capability::Window,
            ],
        }
    }

    fn start(
        &self,
        request: StartRequest,
    ) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, Refused>> {
        let (name, children) = (self.name.clone(), self.children.clone());
        let prepared = self.prepare(request);
        Box::pin(async move {
            let (request, seed) = prepared?;
            children.start(&name, request, seed).await
        })
    }
}

type Prepared = (StartRequest, Vec<Arc<dsh_protocol::event::Event>>);

impl MidFork {
    /// The request with the snapshot before its prompt, and what the child inherits as it is.
    fn prepare(&self, mut request: StartRequest) -> Result<Prepared, Refused> {
        let window = match request.history.take() {
            None => self.options.window,
            Some(History::MidFork(Window::RecentSteps(0))) => {
                return Err(Refused::Invalid("a window of no steps shows nothing".to_owned()));
            }
            Some(History::MidFork(Window::RecentSteps(steps))) if u64::from(steps) > MOST_STEPS => {
                return Err(Refused::Invalid(format!(
                    "a window has at most {MOST_STEPS} steps, not {steps}"
                )));
            }
            Some(History::MidFork(window)) => window,
            Some(History::Fresh | History::Fork) => {
                return Err(Refused::Invalid(format!("`{}` shows a window", self.name)));
            }
        };
        let events = self.children.parent(&request)?.log().page(-1, usize::MAX, |_| true).events;
        let projection = project(&events, &Options { window, ..self.options })?;
        tracing::debug!(
            provider = self.name,
            parent = %request.parent,
            turns = projection.projected_turns,
            steps = projection.projected_steps,
            omitted_reasoning_blocks = projection.omitted_reasoning_blocks,
            assistant_messages = projection.projected_assistant_messages,
            omitted_assistant_messages = projection.omitted_assistant_visible_messages,
            chars = projection.snapshot_chars,
            images = projection.projected_images,
            image_bytes = projection.projected_image_bytes,
            "a window of a session is shown"
        );
        let mut prompt = content::fenced(projection.content, &(self.host.new_id)());
        prompt.append(&mut request.prompt);
        request.prompt = prompt;
        Ok((request, projection.seed))
    }
}
