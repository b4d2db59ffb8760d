//! `dsh-mock-model SCRIPT [--strict | --strict-reasoning]`: plays a script. Prints its port, then each request as
//! one line of JSON, until it is killed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::process::ExitCode;

use dsh_mock_model::script;
use dsh_mock_model::server::{MockModel, Recorded};
use dsh_mock_model::strict::Rules;
use serde_json::{Map, json};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let script = arguments.iter().find(|argument| !argument.starts_with("--"));
    let Some(script) = script else { return complaint("usage: dsh-mock-model SCRIPT") };
    let text = std::fs::read_to_string(script).map_err(|error| error.to_string());
    let answers = match text.and_then(|text| script::parse(&text)) {
        Ok(answers) => answers,
        Err(why) => return complaint(&why),
    };
    let rules = Rules { reasoning_after_calls: flag("--strict-reasoning") };
    let strict = flag("--strict") || rules.reasoning_after_calls;
    let model = if strict { MockModel::strict(answers, rules) } else { MockModel::start(answers) };
    say(&model.port().to_string());
    let mut shown = 0;
    loop {
        let requests = model.requests();
        requests.iter().skip(shown).for_each(|request| say(&line(request)));
        shown = requests.len();
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn line(request: &Recorded) -> String {
    let headers: Map<_, _> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    let body = String::from_utf8_lossy(&request.body);
    json!({ "line": request.line, "headers": headers, "body": body }).to_string()
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).unwrap();
}

fn complaint(why: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{why}");
    ExitCode::from(2)
}
