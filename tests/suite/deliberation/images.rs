//! Branches whose history holds images.

use super::*;

/// A picture of one dot.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The row of a local model that says what it takes.
fn local(input: &str) -> String {
    format!("- id: llm-local\n  merge: {{models: [{{id: mock, input: [{input}]}}]}}\n")
}

fn look(client: &mut Client, images: usize) {
    let image = json!({ "type": "image", "data": DOT, "mediaType": "image/png" });
    let mut content = vec![json!({ "type": "text", "text": "Look." })];
    content.extend(vec![image; images]);
    let params = json!({ "sessionId": "s", "content": content });
    let message = client.request("session/prompt", params)["messageId"].clone();
    let params = json!({ "sessionId": "s", "messageId": message });
    let waited = client.request("session/wait", params);
    assert_eq!(waited["outcome"]["kind"], "completed", "{waited}");
}

#[test]
fn d7_an_inherited_image_is_not_sent_to_a_model_that_takes_none() {
    let (_world, mock, mut client) = stage_with(
        &local("text"),
        [
            say("I see."),
            call("d1", "deliberate", &asked(&[branch("audit", "trajectory-audit")])),
            say("Done."),
        ],
    );
    look(&mut client, 1);
    client.complete("s", "Go.");
    let outcome = outcomes(&mut client).remove(0);
    assert_eq!(
        (&outcome["stopReason"], &outcome["cleanup"]),
        (&json!("unsupported-content"), &json!("not-started"))
    );
    assert!(
        outcome["diagnostic"].as_str().unwrap().contains("image input unsupported"),
        "{outcome}"
    );
    assert!(requests(&mock, AUDIT).is_empty());
}

#[test]
fn d8_a_window_with_too_many_images_is_not_shown() {
    let patch = format!(
        "{}- id: subagent-mid-fork-step-family-in-process\n  merge: {{maxSnapshotImages: 1}}\n",
        local("text, image")
    );
    let mut review = branch("again", "masked-review");
    review["recentSteps"] = 1.into();
    let (_world, mock, mut client) = stage_with(
        &patch,
        [say("I see."), call("d1", "deliberate", &asked(&[review])), say("Done.")],
    );
    look(&mut client, 2);
    client.complete("s", "Go.");
    let outcome = outcomes(&mut client).remove(0);
    assert_eq!(
        (&outcome["stopReason"], &outcome["cleanup"]),
        (&json!("projection-image-limit"), &json!("not-started"))
    );
    assert!(outcome["diagnostic"].as_str().unwrap().contains("image limit"), "{outcome}");
    assert!(requests(&mock, REVIEW).is_empty());
}
