//! A test as text: files, what the model says, what the person does.
//!
//! ```text
//! //- /src/lib.rs          a file of the workspace
//! fn answer() -> u32 { 41 }
//! //- model                a script, see `Script::parse`
//! say It returns 41.
//! //- editor               one action to a line, see `Action`
//! prompt What does answer() return?
//! ```

use crate::script::Script;

/// A test, taken apart.
pub struct Fixture {
    /// Paths and texts.
    pub files: Vec<(String, String)>,
    /// What the model says.
    pub model: Script,
    /// What the person does.
    pub editor: Vec<Action>,
}

/// What a person does. Whatever the last action was, the session comes to rest before it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `prompt TEXT`, `steer TEXT`, `inject TEXT`: a message by its delivery.
    Message(&'static str, String),
    /// `cancel`, or `cancel keep` to keep the queue.
    Cancel(bool),
    /// `await TEXT`: until the model has said it.
    AwaitText(String),
    /// `await-event TYPE`: until an event of the type arrives, counted from the action before.
    AwaitEvent(String),
    /// `rest`: until the session rests.
    Rest,
    /// `restart`: another process goes on with the session.
    Restart,
}

impl Fixture {
    /// Reads a fixture.
    pub fn parse(text: &str) -> Self {
        let mut fixture = Self { files: Vec::new(), model: Script::new(), editor: Vec::new() };
        for section in text.split("//- ").skip(1) {
            let (head, body) = section.split_once('\n').unwrap_or((section, ""));
            match head.trim() {
                "model" => fixture.model = Script::parse(body),
                "editor" => fixture.editor.extend(body.lines().filter_map(action)),
                path if path.starts_with('/') => {
                    fixture.files.push((path.to_owned(), body.to_owned()));
                }
                head => panic!("no section is called `{head}`"),
            }
        }
        fixture
    }
}

fn action(line: &str) -> Option<Action> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    Some(match word {
        "prompt" => Action::Message("followup", rest.to_owned()),
        "steer" => Action::Message("steer", rest.to_owned()),
        "inject" => Action::Message("inject", rest.to_owned()),
        "cancel" => Action::Cancel(rest == "keep"),
        "await" => Action::AwaitText(rest.to_owned()),
        "await-event" => Action::AwaitEvent(rest.to_owned()),
        "rest" => Action::Rest,
        "restart" => Action::Restart,
        _ => panic!("an editor does not `{line}`"),
    })
}
