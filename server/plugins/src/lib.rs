//! The features: a folder or file each, and one line each in the table below. They use the spine's public
//! parts only, and none imports another.

use dsh_kernel::plugin::Plugin;

mod agent_default_model;
mod agent_loop;
mod agents;
mod commands;
mod credentials;
mod deliberation;
mod evidence;
mod fs;
mod llm;
mod llm_offline;
mod mid_fork;
mod offline;
mod openai;
mod replay;
mod session_commands;
mod session_search;
mod session_store;
mod sessions;
mod spill_policy;
mod subagent_controls;
mod subagent_fork;
mod subagent_spawn;
mod subagents;
mod system_prompt;
mod tool_glob;
mod tool_grep;
mod tool_read;
mod tool_subagent;
mod tools;

#[cfg(test)]
mod testing;

/// Every plugin that rows can name.
pub const PLUGINS: &[Plugin] = &[
    agent_default_model::PLUGIN,
    agent_loop::PLUGIN,
    agents::PLUGIN,
    commands::PLUGIN,
    credentials::PLUGIN,
    deliberation::PLUGIN,
    evidence::PLUGIN,
    fs::PLUGIN,
    llm::PLUGIN,
    llm_offline::PLUGIN,
    mid_fork::PLUGIN,
    openai::DEEPSEEK,
    openai::LOCAL,
    openai::OPENAI,
    openai::PLUGIN,
    replay::PLUGIN,
    session_commands::PLUGIN,
    session_search::PLUGIN,
    session_store::PLUGIN,
    sessions::PLUGIN,
    spill_policy::PLUGIN,
    subagent_controls::PLUGIN,
    subagent_fork::PLUGIN,
    subagent_spawn::PLUGIN,
    subagents::PLUGIN,
    system_prompt::PLUGIN,
    tool_glob::PLUGIN,
    tool_grep::PLUGIN,
    tool_read::PLUGIN,
    tool_subagent::PLUGIN,
    tools::PLUGIN,
];
