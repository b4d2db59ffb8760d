//! What a branch is asked, read back out of the fixed sections of its prompt.

/// A section's title, and that of the one behind it.
const GOAL: (&str, &str) = ("Decision question", "Incumbent");
const INCUMBENT: (&str, &str) = ("Incumbent", "Supplied observations");
const OBSERVATIONS: (&str, &str) = ("Supplied observations", "User and system constraints");
const UNKNOWNS: (&str, &str) = ("Unresolved unknowns", "Focus");
const FOCUS: (&str, &str) = ("Focus", "What you know of the session");

/// What a list without entries says.
const NONE: &str = "none supplied";

/// What a branch is asked. A prompt without these sections leaves them empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Task {
    pub goal: String,
    /// What the primary agent takes for right; a text about why it is left out, where it is.
    pub incumbent: String,
    pub observations: Vec<String>,
    pub unknowns: Vec<String>,
    pub focus: String,
}

impl Task {
    /// Reads a prompt.
    pub(super) fn read(prompt: &str) -> Task {
        let text = |titles| section(prompt, titles).unwrap_or_default().to_owned();
        let list = |titles| section(prompt, titles).map(entries).unwrap_or_default();
        Task {
            goal: text(GOAL),
            incumbent: text(INCUMBENT),
            observations: list(OBSERVATIONS),
            unknowns: list(UNKNOWNS),
            focus: text(FOCUS),
        }
    }
}

/// The text between two titles.
fn section<'p>(prompt: &'p str, (title, next): (&str, &str)) -> Option<&'p str> {
    let begin = format!("\n## {title}\n\n");
    let end = format!("\n## {next}\n");
    let from = prompt.find(&begin)? + begin.len();
    let rest = &prompt[from..];
    Some(rest[..rest.find(&end)?].trim())
}

/// The entries of a list, the lines behind the first of each without their indentation.
fn entries(body: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in body.lines() {
        if let Some(entry) = line.strip_prefix("- ") {
            entries.push(entry.to_owned());
        } else if let Some(last) = entries.last_mut() {
            last.push('\n');
            last.push_str(line.strip_prefix("  ").unwrap_or(line));
        }
    }
    entries.retain(|entry| entry != NONE);
    entries
}

#[cfg(test)]
mod tests {
    use super::Task;

    #[test]
    fn a_task_is_read_out_of_its_sections() {
        let prompt = "You are a branch.\n\n## Decision question\n\nWhich?\n## Not a section\n\n## Incumbent\n\n\
                      This.\n\n## Supplied observations\n\n- one\n  goes on\n- two\n\n\
                      ## User and system constraints\n\n- none supplied\n\n## Unresolved unknowns\n\n\
                      - none supplied\n\n## Focus\n\nlocks\n\n## What you know of the session\n\nNothing.\n";
        let expected = Task {
            goal: "Which?\n## Not a section".to_owned(),
            incumbent: "This.".to_owned(),
            observations: vec!["one\ngoes on".to_owned(), "two".to_owned()],
            unknowns: Vec::new(),
            focus: "locks".to_owned(),
        };
        assert_eq!(Task::read(prompt), expected);
        assert_eq!(Task::read("Anything else."), Task::default());
    }
}
