//! The system prompt, put together from sections: the `systemPrompt` service.

use dsh_kernel::registration::Registration;
use dsh_kernel::registry::{Registry, Taken};
use dsh_kernel::service::Key;

use crate::setup::Setup;

/// The service's name.
pub const SYSTEM_PROMPT: Key<SystemPrompt> = Key::new("systemPrompt");

/// A part of the system prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Names it; unique.
    pub name: String,
    /// Sections stand by this number, then by name. Tool guidance is 100 to 199.
    pub order: i32,
    /// Its text; `{{provider}}`, `{{model}}` and `{{cwd}}` are filled in.
    pub text: String,
}

/// Why no system prompt could be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// A section names a variable that does not exist.
    #[error("section `{section}` of the system prompt names the unknown variable `{variable}`")]
    UnknownVariable {
        /// The section.
        section: String,
        /// The variable.
        variable: String,
    },
}

/// The section that a subagent's persona takes the place of.
const PERSONA: &str = "deployment:persona";

/// The sections that plugins contribute, and those that only one agent has.
#[derive(Clone, Default)]
pub struct SystemPrompt {
    sections: Registry<Entry>,
    own: Vec<Section>,
}

#[derive(Clone)]
struct Entry {
    section: Section,
    /// The tool without which there is nothing to say.
    tool: Option<String>,
}

impl SystemPrompt {
    /// The sections as they are now, for work that must not see them change.
    pub fn snapshot(&self) -> Self {
        Self { sections: self.sections.snapshot(), own: self.own.clone() }
    }

    /// The prompt of one agent.
    pub(crate) fn for_agent(mut self, setup: &Setup) -> Self {
        let persona = setup.persona.iter().map(|text| Section {
            name: PERSONA.to_owned(),
            order: 0,
            text: text.clone(),
        });
        self.own = persona.chain(setup.sections.iter().cloned()).collect();
        self
    }

    /// Adds a section for as long as the registration is kept.
    pub fn register(&self, section: Section) -> Result<Registration, Taken> {
        let name = section.name.clone();
        self.sections.register(&name, Entry { section, tool: None })
    }

    /// Adds a section that only those agents read that are offered a tool.
    pub fn register_for_tool(&self, section: Section, tool: &str) -> Result<Registration, Taken> {
        let name = section.name.clone();
        self.sections.register(&name, Entry { section, tool: Some(tool.to_owned()) })
    }

    /// The whole prompt: sections in order, a blank line between them, variables filled in. `None` when there
    /// is nothing to say.
    pub fn assemble(&self, variables: &[(&str, &str)]) -> Result<Option<String>, PromptError> {
        self.assemble_with(variables, |_| true)
    }

    /// The whole prompt of an agent that has these tools. An agent's own sections stand for those of the same
    /// name.
    pub(crate) fn assemble_with(
        &self,
        variables: &[(&str, &str)],
        has_tool: impl Fn(&str) -> bool,
    ) -> Result<Option<String>, PromptError> {
        let said = self.sections.all().into_iter().filter(|entry| {
            entry.tool.as_deref().is_none_or(&has_tool)
                && !self.own.iter().any(|own| own.name == entry.section.name)
        });
        let mut sections: Vec<Section> = said.map(|entry| entry.section).collect();
        sections.extend(self.own.iter().cloned());
        sections.sort_by(|a, b| a.order.cmp(&b.order).then_with(|| a.name.cmp(&b.name)));
        let mut texts = Vec::new();
        for section in sections {
            let text = fill_in(&section, variables)?;
            if !text.trim().is_empty() {
                texts.push(text.trim().to_owned());
            }
        }
        Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
    }
}

/// Fills in the variables of a section. A `{{` without a later `}}` is plain text.
fn fill_in(section: &Section, variables: &[(&str, &str)]) -> Result<String, PromptError> {
    let mut filled = String::new();
    let mut rest = section.text.as_str();
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((name, after)) = behind.split_once("}}") else { break };
        let Some((_, value)) = variables.iter().find(|(variable, _)| *variable == name) else {
            return Err(PromptError::UnknownVariable {
                section: section.name.clone(),
                variable: name.to_owned(),
            });
        };
        filled.push_str(before);
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(sections: &[(&str, i32, &str)]) -> (SystemPrompt, Vec<Registration>) {
        let prompt = SystemPrompt::default();
        let registrations = sections
            .iter()
            .map(|(name, order, text)| {
                let section =
                    Section { name: (*name).to_owned(), order: *order, text: (*text).to_owned() };
                prompt.register(section).unwrap()
            })
            .collect();
        (prompt, registrations)
    }

    #[test]
    fn sections_stand_in_order_with_variables_filled_in() {
        let (prompt, _kept) = prompt(&[
            ("b", 10, "in {{cwd}}, {{model}}"),
            ("a", 10, "a {{ b"),
            ("c", -1, "first\n"),
            ("d", 0, " "),
        ]);
        let assembled = prompt.assemble(&[("cwd", "/w"), ("model", "m")]).unwrap();
        assert_eq!(assembled.as_deref(), Some("first\n\na {{ b\n\nin /w, m"));
    }

    #[test]
    fn an_unknown_variable_is_named() {
        let (prompt, _kept) = prompt(&[("a", 0, "{{nobody}}")]);
        let error = prompt.assemble(&[]).unwrap_err().to_string();
        assert!(error.contains("`a`") && error.contains("`nobody`"), "{error}");
    }

    #[test]
    fn dropping_a_registration_removes_the_section() {
        let (prompt, kept) = prompt(&[("a", 0, "text")]);
        assert!(
            prompt
                .register(Section { name: "a".to_owned(), order: 0, text: String::new() })
                .is_err()
        );
        drop(kept);
        assert_eq!(prompt.assemble(&[]), Ok(None));
    }
}
