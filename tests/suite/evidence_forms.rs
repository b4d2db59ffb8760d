//! Which words make a claim: what people and models write about files, one text each, and what is said of it.

use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::Value;

const LIB: &str = "//! Retries.\n\nuse std::time::Duration;\n\n/// How often.\npub const MOST: u32 = 5;\n\n\
/// Waits between two attempts.\npub fn pause(attempt: u32, base: Duration) -> Duration {\n    let factor = 1 << attempt.min(MOST);\n    \
base * factor\n}\n\npub struct Policy {\n    pub max_retries: u32,\n    pub base: Duration,\n}\n\nimpl Policy {\n    pub fn new() -> Self {\n        \
Policy { max_retries: 3, base: Duration::from_millis(50) }\n    }\n}\n";

fn world() -> World {
    let world = World::new();
    world.file("src/retry.rs", LIB);
    world.file(
        "README.md",
        "# Parcel\n\nParcels are sent again, at most five times,\nwith a pause that doubles.\n",
    );
    world.file("server/agent/turn.rs", "mod a;\nmod b;\nfn run_turn() {}\n");
    world.file("app/[slug]/page.tsx", "export default function Page() {}\n");
    world.file("Makefile", "all:\n\tcargo build\n");
    world.file("docs/my notes.md", "# Notes\n\nSent again.\n");
    world.file("win.txt", "first line\r\nsecond line\r\n");
    world
}

/// What is said of each text: nothing, or how many claims were checked and each failure.
fn judged(world: &World, texts: &[&str]) -> Vec<String> {
    let script = texts.iter().fold(None, |script: Option<Script>, text| {
        Some(script.map_or_else(Script::new, Script::turn).say_chunks([*text]))
    });
    let mut client = world.play(script.unwrap());
    client.session("s");
    let mut said = Vec::new();
    for _ in texts {
        client.complete("s", "Go on.");
    }
    let log = client.log("s");
    for turn in 1..=texts.len() {
        let is_of =
            |event: &&Value| event["type"] == "evidence/checked" && event["data"]["turn"] == turn;
        let data = log.iter().find(is_of).map(|event| &event["data"]);
        said.push(data.map_or("nothing".to_owned(), |data| {
            let failures = data["failures"].as_array().unwrap().iter().map(|failure| {
                let part = |name: &str| {
                    failure.get(name).map_or(String::new(), |value| format!(" {value}"))
                };
                format!("; {}{}{}", failure["reason"].as_str().unwrap(), part("line"), part("now"))
            });
            format!("{}{}", data["checked"], failures.collect::<String>())
        }));
    }
    client.shut_down();
    said
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let texts: Vec<&str> = cases.iter().map(|(text, _)| *text).collect();
    let said = judged(&world(), &texts);
    let wrong: Vec<String> = cases
        .iter()
        .zip(said)
        .filter(|((_, expected), said)| expected != said)
        .map(|((text, expected), said)| format!("{text}\n  expected {expected}\n  but was {said}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_holds_is_counted_in_every_spelling() {
    check(&[
        ("See `docs/my notes.md:3` and [them](docs/my%20notes.md#L1).", "2"),
        ("See [my notes.md](docs/my%20notes.md#L1) or \"docs/my notes.md:3\".", "2"),
        ("See @src/retry.rs:9.", "1"),
        ("See `src/retry.rs:9`.", "1"),
        ("See src/retry.rs:9-12, and src/retry.rs:14.", "2"),
        ("See **src/retry.rs:9**.", "1"),
        ("See [retry](src/retry.rs#L9-L12) and [the same](./src/retry.rs:9).", "2"),
        ("See [`src/retry.rs:9`](src/retry.rs#L9).", "1"),
        ("`pause` (`retry.rs:9`) and `Policy::new` (`retry.rs:20`).", "2"),
        (
            "`pause()` at agent/turn.rs:3 is not it; `run_turn` (`agent/turn.rs:3`) is.",
            "2; identifier-not-near 3",
        ),
        (
            "The file `src/retry.rs` (lines 9 to 12) and line 3 of `win.txt`.",
            "2; line-out-of-range 3",
        ),
        ("`src/retry.rs:6`: `pub const MOST: u32 = 5;`", "1"),
        ("`src/retry.rs:6`: `pub const MOST: u32`", "1"),
        ("`src/retry.rs`, line 6: `pub const MOST: u32 = 5;`", "1"),
        ("`src/retry.rs`, line 6: `pub const MOST: u32 = 6;`", "1; quote-not-found 6"),
        ("`src/retry.rs` (line 4): `pub const MOST: u32 = 5;`", "1; quote-moved 4 6"),
        ("In src/retry.rs, lines 9 to 12: `pub const MOST: u32 = 5;`", "1; quote-moved 9 6"),
        ("`src/retry.rs:9`: `pub fn pause(attempt: u32, \u{2026}) -> Duration {`", "1"),
        ("`src/retry.rs:9`: `pub fn pause(...)`", "1"),
        (
            "From `src/retry.rs:9-12`:\n```rust\npub fn pause(attempt: u32, base: Duration) -> Duration {\n    // ...\n    base * factor\n}\n```",
            "1",
        ),
        (
            "From `src/retry.rs:9-12`:\n```rust\npub fn pause(attempt: u32, base: Duration) -> Duration {\n  let factor = 1 << attempt.min(MOST); // doubles\n  base * factor\n}\n```",
            "1",
        ),
        (
            "`src/retry.rs:9`\n\n```rust\n 9\tpub fn pause(attempt: u32, base: Duration) -> Duration {\n10\t    let factor = 1 << attempt.min(MOST);\n```",
            "1",
        ),
        ("```rust src/retry.rs:6\npub const MOST: u32 = 5;\n```", "1"),
        (
            "```9:11:src/retry.rs\npub fn pause(attempt: u32, base: Duration) -> Duration {\n    let factor = 1 << attempt.min(MOST);\n    base * factor\n```",
            "1",
        ),
        ("```\nsrc/retry.rs:6:pub const MOST: u32 = 5;\nREADME.md:1:# Parcel\n```", "2"),
        ("`README.md:3`: \"sent again, at most five times, with a pause that doubles\"", "1"),
        ("`app/[slug]/page.tsx:1` and Makefile:2.", "2"),
        ("`win.txt:2`: `second line`", "1"),
        ("`maxRetries` (`src/retry.rs:15`) is three.", "1"),
        ("The build is in `Makefile:2`, the rest in README.md.", "2"),
        ("`src/retry.rs:9` and again `src/retry.rs:9`.", "1"),
        (
            "- `MOST` \u{2014} `src/retry.rs:6`\n- `pause` \u{2014} `src/retry.rs:9`\n- `Policy` \u{2014} `src/retry.rs:14`",
            "3",
        ),
        (
            "- `src/retry.rs:6` `MOST`\n- `src/retry.rs:9` `pause`\n- `src/retry.rs:14` `Policy`",
            "3",
        ),
        (
            "| name | where |\n|---|---|\n| `MOST` | `src/retry.rs:6` |\n| `pause` | `src/retry.rs:9` |",
            "2",
        ),
        ("`pause` is defined at `src/retry.rs:9` and called by `run_turn`.", "1"),
        ("`Policy::new()` in `src/retry.rs:20` sets `max_retries`, and `pause` uses it.", "1"),
    ]);
}

#[test]
fn what_does_not_hold_is_told_in_every_spelling() {
    check(&[
        ("See `src/retry.rs:900`.", "1; line-out-of-range 900"),
        ("See `docs/my notes.md:9`.", "1; line-out-of-range 9"),
        (
            "In \"docs/my notes.md:9\" and @src/retry.rs:900.",
            "2; line-out-of-range 9; line-out-of-range 900",
        ),
        (
            "See [them](docs/my%20notes.md#L9) or [them](<docs/your notes.md#L1>).",
            "2; line-out-of-range 9; missing-file 1",
        ),
        ("See src/retry.rs:9-120.", "1; line-out-of-range 9"),
        ("See `src/retry.rs:12-9`.", "1; line-out-of-range 12"),
        ("See `src/retry.rs:0`.", "1; line-out-of-range 0"),
        ("See `src/retries.rs:9`, `src/retries.rs:10`.", "2; missing-file 9; missing-file 10"),
        ("See [it](src/retries.rs#L9).", "1; missing-file 9"),
        ("The limits are in `config/limits.toml`.", "1; missing-file"),
        ("The limits are in config/limits.toml.", "1; missing-file"),
        ("See `lib/retry.rs:9`.", "1; missing-file 9"),
        ("`src/retry.rs:6`: `pub const MOST: u32 = 6;`", "1; quote-not-found 6"),
        ("`src/retry.rs:9`: `pub const MOST: u32 = 5;`", "1; quote-moved 9 6"),
        ("The line `pub const MOST: u32 = 5;` (`src/retry.rs:5`) says so.", "1; quote-moved 5 6"),
        ("`src/retry.rs:2` has `pub const MOST: u32 = 5;`.", "1; quote-moved 2 6"),
        ("`pub const MOST: u32 = 7;` is in `src/retry.rs:6`.", "1; quote-not-found 6"),
        ("`pause_all` (`src/retry.rs:9`)", "1; identifier-not-near 9"),
        ("`src/retry.rs:2` defines `pause`.", "1; identifier-not-near 2 9"),
        ("`Policy::fresh` is implemented at `src/retry.rs:20`.", "1; identifier-not-near 20"),
        ("`pause` lives in src/retry.rs (line 2).", "1; identifier-not-near 2 9"),
        (
            "From `src/retry.rs:9-12`:\n```rust\npub fn pause(attempt: u32, base: Duration) -> Duration {\n    let factor = 2 << attempt.min(MOST);\n```",
            "1; quote-not-found 9",
        ),
        (
            "From `src/retry.rs:14-17`:\n```rust\npub fn pause(attempt: u32, base: Duration) -> Duration {\n    let factor = 1 << attempt.min(MOST);\n```",
            "1; quote-moved 14 9",
        ),
        ("### src/retry.rs:14\n\n```rust\npub const MOST: u32 = 5;\n```", "1; quote-moved 14 6"),
        ("```\nsrc/retry.rs:5:pub const MOST: u32 = 5;\n```", "1; quote-moved 5 6"),
        ("`README.md:1`: \"sent again, at most ten times, with a pause\"", "1; quote-not-found 1"),
    ]);
}

#[test]
fn what_is_no_claim_is_left_alone() {
    let texts = [
        "Hello.",
        "At 12:30, or 09:15:22, version 1.2.3:4, v2.0.1-rc.1, ratio 16:9, Luke 3:16.",
        "Ask http://localhost:8080/a.rs:3, https://example.org/src/gone.rs#L10 or ws://h:1/x.ts:2.",
        "It listens on localhost:8080, 127.0.0.1:9000, [::1]:80, db.internal:5432, example.com:443 and docs.rs:443.",
        "`std::fs::read`, `tokio::fs:10`, `crate::turn::run` and `serde_json::Value` matter.",
        "Node.js, Next.js 14, ASP.NET, D3.js and Vue.js are others; `response.json` and `event.ts` are fields.",
        "Create a new file `src/backoff.rs`:\n\n```rust\npub fn backoff() { todo!() }\n```",
        "I would add `src/backoff.rs` and a test in `tests/backoff_test.rs`.",
        "There is no `CONTRIBUTING.md`, and `docs/guide.md` does not exist.",
        "```rust\n// somewhere/else.rs\nlet x = \"src/gone.rs:10\";\n```",
        "Use `path/to/file.rs:10`, `<path>:12`, `{file}:{line}`, `src/*.rs`, `file.ext:3` or `foo.rs:1`.",
        "The output goes to `target/debug/parcel` and `dist/index.js`.",
        "Run `cargo test --test all src/gone.rs:3` and `docs/our notes.md:3`.",
        "I looked for `setup.py` and `requirements.txt` and found neither.",
        "Neither `Cargo.toml` nor `src/lib.rs` exists.",
        "You should add tests, e.g. in `tests/server_test.rs`.",
        "It resolves `./client` to `client.ts`, `client.tsx` or `client/index.ts`.",
        "It is `library/std/src/process.rs` of the Rust standard library.",
        "Next.js:14.2 and Vue.js:3; node.js:18 is needed, `Node.js:20` is better.",
        "Mail user@host.md:22, or scp me@box.sh:22.",
        "Set `RUST_LOG=debug,hyper:1`, `key: 10`, `a:1` and `sha256:12`.",
        "`/usr/include/stdio.h:20`, `~/.cargo/config.toml`, `$HOME/.bashrc:3` and `C:\\x\\y.rs:3` are elsewhere.",
        "See \u{2026}/gone/thing.rs:10 and src/.../thing.rs:3.",
        "```console\n$ cargo test\nsrc/gone.rs:10:5: error: expected `;`\n```",
    ];
    let cases: Vec<(&str, &str)> = texts.iter().map(|text| (*text, "nothing")).collect();
    check(&cases);
}

#[test]
fn what_stands_beside_a_place_without_being_there_is_left_alone() {
    check(&[
        ("Change `src/retry.rs:6` to:\n```rust\npub const MOST: u32 = 9;\n```", "1"),
        (
            "You could write this in `src/retry.rs:6` instead:\n\n```rust\npub const MOST: u32 = 9;\n```",
            "1",
        ),
        (
            "A fix for `src/retry.rs:6`:\n```diff\n-pub const MOST: u32 = 5;\n+pub const MOST: u32 = 9;\n```",
            "1",
        ),
        ("Run the tests of `src/retry.rs:6` so:\n```sh\ncargo test retry\n```", "1"),
        (
            "`error` (`src/retry.rs:9`), `string` (`src/retry.rs:9`), `true` (`src/retry.rs:9`).",
            "1",
        ),
        ("`src/retry.rs:9` is not `elsewhere_entirely`.", "1"),
        ("`src/retry.rs:9`, `elsewhere_entirely` and others.", "1"),
        ("`src/retry.rs:9`. `elsewhere_entirely` is another matter.", "1"),
        ("It prints, at `src/retry.rs:9`:\n```text\nwaiting 50 ms\n```", "1"),
        ("`src/retry.rs:9` panics with:\n```\nthread 'main' panicked at retry\n```", "1"),
        ("`src/retry.rs:14` is written as:\n```json\n{ \"max_retries\": 3 }\n```", "1"),
        (
            "`src/retry.rs:14` is used by `server/agent/turn.rs:3`:\n```rust\npub struct Policy {\n```",
            "2",
        ),
        (
            "It is in `src/retry.rs:9`. Here is a reproduction:\n```rust\nassert!(pause(1));\n```",
            "1",
        ),
        ("Call `cargo run --release` (see `README.md:1`).", "1"),
        ("`--max-retries` (`src/retry.rs:15`) is a flag.", "1"),
        ("`src/retry.rs:9` computes `1 << attempt`.", "1"),
        ("Around line 500 of nothing in particular, `src/retry.rs` begins.", "1"),
    ]);
}
