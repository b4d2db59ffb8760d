//! Scripts as text, for tests that are not written in Rust.
//!
//! A line is a word and what belongs to it; texts are JSON strings. `---` begins the next answer; without
//! `status` an answer is a stream of events.
//!
//! ```text
//! reasoning "let me look"
//! tool_call 0 "call-1" "read" "{\"file_path\":\"a\"}"
//! finish "tool_calls"
//! done
//! ---
//! status 429
//! header "retry-after" "1"
//! raw "busy"
//! ```

use std::time::Duration;

use serde_json::Value;

use crate::answer::Answer;

/// The answers of a script; the number of the line and what is wrong with it otherwise.
pub fn parse(text: &str) -> Result<Vec<Answer>, String> {
    let mut answers = Vec::new();
    let mut answer: Option<Answer> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line == "---" {
            answers.push(answer.take().unwrap_or_else(Answer::stream));
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let values: Result<Vec<_>, _> = values.collect();
        let stepped = values.map_err(|error| error.to_string()).and_then(|values| {
            step(answer.take(), word, &values)
                .ok_or_else(|| format!("`{word}` is not written like this"))
        });
        answer = Some(stepped.map_err(|why| format!("line {}: {why}", at + 1))?);
    }
    answers.extend(answer);
    Ok(answers)
}

fn step(answer: Option<Answer>, word: &str, values: &[Value]) -> Option<Answer> {
    if word == "status" {
        return Some(Answer::status(number(values.first()?)?));
    }
    let answer = answer.unwrap_or_else(Answer::stream);
    let text = |at: usize| values.get(at).and_then(Value::as_str);
    Some(match word {
        "close" => answer.close(),
        "cut_at" => answer.cut_at(number(values.first()?)?),
        "delta" => answer.delta(text(0)?),
        "delta_of" => answer.delta_of(values.first()?),
        "done" => answer.done(),
        "each_byte" => answer.each_byte(),
        "event" => answer.event(values.first()?),
        "finish" => answer.finish(text(0)?),
        "header" => answer.header(text(0)?, text(1)?),
        "hold" => answer.hold(),
        "json" => answer.json(values.first()?),
        "keep_alive" => answer.keep_alive(),
        "raw" => answer.raw(text(0)?),
        "reasoning" => answer.reasoning(text(0)?),
        "reset" => answer.reset(),
        "seeded_cuts" => answer.seeded_cuts(number(values.first()?)?),
        "sleep_ms" => answer.sleep(Duration::from_millis(number(values.first()?)?)),
        "tool_call" => answer.tool_call(number(values.first()?)?, text(1)?, text(2)?, text(3)?),
        "usage" => answer.usage(values.first()?),
        _ => return None,
    })
}

fn number<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    value.as_u64()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_the_answers_that_it_says() {
        let script = "delta \"a\\nb\"\nfinish \"stop\"\ndone\n---\n# busy\nstatus 429\nheader \"x\" \"y\"\nraw \"z\"\n";
        let answers = parse(script).unwrap();
        assert_eq!(answers.len(), 2);
        let streamed = Answer::stream().delta("a\nb").finish("stop").done().into_body();
        assert_eq!(answers[0].clone().into_body(), streamed);
        assert!(answers[1].head.starts_with("HTTP/1.1 429 ") && answers[1].head.contains("x: y"));
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        assert!(parse("done\ndelta 7").unwrap_err().starts_with("line 2:"));
        assert!(parse("shout \"a\"").unwrap_err().starts_with("line 1:"));
    }
}
