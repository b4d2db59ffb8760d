//! Takes packed rows of log files apart, written down anew from the format.

use serde_json::{Value, json};

/// The events of one line of a log file.
pub fn unpack(line: Value) -> Vec<Value> {
    let (kind, texts, text) = match line["type"].as_str() {
        Some("text-chunks") => ("text-delta", "texts", "text"),
        Some("reasoning-chunks") => ("reasoning-delta", "texts", "text"),
        Some("tool-call-chunks") => ("tool-call-delta", "args", "argumentsDelta"),
        _ => return vec![line],
    };
    let data = &line["data"];
    let gaps = data["dt"].as_array().unwrap();
    let texts = data[texts].as_array().unwrap();
    assert_eq!(gaps.len() + 1, texts.len(), "{line}");
    assert!(texts.len() >= 3, "shorter runs are no rows: {line}");
    let mut time = line["time0"].as_i64().unwrap();
    let mut events = Vec::new();
    for (at, said) in texts.iter().enumerate() {
        if at > 0 {
            time += gaps[at - 1].as_i64().unwrap();
        }
        assert!(said.is_string(), "{line}");
        let chunk = json!({ "type": kind, "index": data["index"], text: said });
        events.push(json!({
            "type": "assistant/chunk",
            "seq": line["seq0"].as_u64().unwrap() + at as u64,
            "time": time,
            "data": { "turn": data["turn"], "step": data["step"], "chunk": chunk },
        }));
    }
    events
}
