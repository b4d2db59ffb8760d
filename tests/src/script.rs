//! What the model says, written as a recorded session for the `replay` model.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A model's answers, by turn and step.
#[derive(Clone, Debug)]
pub struct Script {
    lines: Vec<String>,
    turn: u64,
    step: u64,
    time: u64,
    /// The next block's index in the open answer.
    index: u64,
    /// How many calls there have been, so that each has an id of its own.
    calls: u64,
    /// Whether the open answer asks for tools.
    asks: bool,
    /// Whether the open answer has its finish.
    finished: bool,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            turn: 1,
            step: 1,
            time: 1_000,
            index: 0,
            calls: 0,
            asks: false,
            finished: false,
        }
    }
}

impl Script {
    /// A model that has not said anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a script: `say TEXT`, `think TEXT`, `call TOOL ARGUMENTS`, `wait MS`, `finish REASON [CODE]`,
    /// `---` before the next step and `turn` before the next turn.
    pub fn parse(text: &str) -> Self {
        let mut script = Self::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            script = match word {
                "say" => script.say(rest),
                "think" => script.think(rest),
                "call" => {
                    let (tool, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
                    script.call(tool, arguments)
                }
                "wait" => script.wait(rest.parse().unwrap()),
                "finish" => {
                    let (reason, code) = rest.split_once(' ').unwrap_or((rest, ""));
                    script.finish(reason, code)
                }
                "---" => script.step(),
                "turn" => script.turn(),
                _ => panic!("a model does not `{line}`"),
            };
        }
        script
    }

    /// Visible text, one chunk for each word.
    pub fn say(self, text: &str) -> Self {
        self.block("text", text)
    }

    /// Reasoning.
    pub fn think(self, text: &str) -> Self {
        self.block("reasoning", text)
    }

    /// Visible text in exactly these chunks.
    pub fn say_chunks<'a>(self, chunks: impl IntoIterator<Item = &'a str>) -> Self {
        self.say_every(0, chunks)
    }

    /// The same, with a pause in front of each.
    pub fn say_every<'a>(mut self, ms: u64, chunks: impl IntoIterator<Item = &'a str>) -> Self {
        let index = self.start(&json!({ "block": "text" }));
        for text in chunks {
            self.time += ms;
            self.chunk(&json!({ "type": "text-delta", "index": index, "text": text }));
        }
        self.chunk(&json!({ "type": "block-end", "index": index }));
        self
    }

    /// A tool call under an id of its own.
    pub fn call(mut self, tool: &str, arguments: &str) -> Self {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        self.call_as(&id, tool, arguments)
    }

    /// A tool call under a given id.
    pub fn call_as(mut self, id: &str, tool: &str, arguments: &str) -> Self {
        let index = self.start(&json!({ "block": "tool-call", "id": id, "name": tool }));
        self.chunk(
            &json!({ "type": "tool-call-delta", "index": index, "argumentsDelta": arguments }),
        );
        self.chunk(&json!({ "type": "block-end", "index": index }));
        self.asks = true;
        self
    }

    /// A pause before the next chunk.
    pub fn wait(mut self, ms: u64) -> Self {
        self.time += ms;
        self
    }

    /// Ends the answer: `stop`, `tool-calls`, `max-tokens` or `error` with a code.
    pub fn finish(mut self, reason: &str, code: &str) -> Self {
        let usage = json!({ "inputTokens": 10, "outputTokens": 5 });
        self.chunk(&json!({ "type": "usage", "usage": usage }));
        let mut finish = json!({ "type": "finish", "reason": reason });
        if !code.is_empty() {
            finish["error"] = json!({ "code": code, "message": "told to fail" });
        }
        self.chunk(&finish);
        self.finished = true;
        self
    }

    /// Goes on with the next step's answer.
    pub fn step(mut self) -> Self {
        self = self.close();
        self.step += 1;
        self
    }

    /// Goes on with the next turn's answer.
    pub fn turn(mut self) -> Self {
        self = self.close();
        self.turn += 1;
        self.step = 1;
        self
    }

    /// Writes the script into a folder and returns the name of the model that plays it.
    pub fn write(self, folder: &Path, name: &str) -> String {
        let path = self.write_file(folder, name);
        format!("replay/{}", path.display())
    }

    fn write_file(mut self, folder: &Path, name: &str) -> PathBuf {
        self = self.close();
        let header =
            json!({ "type": "session", "version": 0, "id": name, "createdAt": 1, "cwd": "/" });
        let mut text = format!("{header}\n");
        for line in &self.lines {
            writeln!(text, "{line}").unwrap();
        }
        fs::create_dir_all(folder).unwrap();
        let path = folder.join(format!("{name}.jsonl"));
        fs::write(&path, text).unwrap();
        path
    }

    fn close(mut self) -> Self {
        if !self.finished {
            let reason = if self.asks { "tool-calls" } else { "stop" };
            self = self.finish(reason, "");
        }
        self.index = 0;
        self.asks = false;
        self.finished = false;
        self
    }

    fn block(mut self, kind: &str, text: &str) -> Self {
        let index = self.start(&json!({ "block": kind }));
        for word in text.split_inclusive(' ') {
            let delta = format!("{kind}-delta");
            self.chunk(&json!({ "type": delta, "index": index, "text": word }));
        }
        self.chunk(&json!({ "type": "block-end", "index": index }));
        self
    }

    fn start(&mut self, facts: &Value) -> u64 {
        let index = self.index;
        self.index += 1;
        let mut chunk = json!({ "type": "block-start", "index": index });
        for (name, value) in facts.as_object().unwrap() {
            chunk[name] = value.clone();
        }
        self.chunk(&chunk);
        index
    }

    fn chunk(&mut self, chunk: &Value) {
        let event = json!({
            "type": "assistant/chunk",
            "seq": self.lines.len(),
            "time": self.time,
            "data": { "turn": self.turn, "step": self.step, "chunk": chunk },
        });
        self.lines.push(event.to_string());
    }
}
