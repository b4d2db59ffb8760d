/** What is read of an answer: blocks, spans and places, whole and while it grows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { linkedCitation, splitAtCitations, wholeCitation } from "../src/view/citations.ts";
import { readBlocks, readSpans, type Block } from "../src/view/markdown.ts";

const ANSWER = "# Title\n\nOne *two* `three`\ngoes on.\n- a\n  - b\n1. c\n\n> said\n> more\n\n---\n```rust\nfn a() {}\n\n# no title\n```\nend\n";

/** Blocks as short words. */
function kinds(blocks: Block[]): string[] {
  return blocks.map((block) => ("text" in block ? `${block.kind} ${JSON.stringify(block.text)}` : block.kind));
}

test("blocks are told apart by their lines", () => {
  assert.deepEqual(kinds(readBlocks(ANSWER)), [
    'heading "Title"',
    'paragraph "One *two* `three`\\ngoes on."',
    'item "a"',
    'item "b"',
    'item "c"',
    'quote "said\\nmore"',
    "rule",
    'code "fn a() {}\\n\\n# no title\\n"',
    'paragraph "end"',
  ]);
});

test("a growing answer, read on from its last block, is the whole answer", () => {
  let blocks: Block[] = [];
  for (let end = 0; end <= ANSWER.length; end += 1) {
    const text = ANSWER.slice(0, end);
    const from = blocks.at(-1)?.start ?? 0;
    blocks = [...blocks.slice(0, -1), ...readBlocks(text, from)];
    assert.deepEqual(blocks, readBlocks(text), JSON.stringify(text));
  }
});

test("spans hold text only; what is no Markdown stays as it is", () => {
  assert.deepEqual(readSpans("a `b_c_` **d** [e](f) snake_case_name 2*3*4"), [
    { kind: "text", text: "a " },
    { kind: "code", text: "b_c_" },
    { kind: "text", text: " " },
    { kind: "strong", spans: [{ kind: "text", text: "d" }] },
    { kind: "text", text: " " },
    { kind: "link", text: "e", target: "f" },
    { kind: "text", text: " snake_case_name 2*3*4" },
  ]);
});

test("long and hostile text is read in a moment", () => {
  const hostile = ["`".repeat(40_000), "*".repeat(40_000), "[".repeat(40_000), "_a ".repeat(20_000), "a/".repeat(30_000), "** ".repeat(20_000), "` `` ``` ".repeat(5_000), "[a](b(".repeat(10_000), "[a](<b".repeat(10_000), "a:1".repeat(20_000), "#L1".repeat(20_000)];
  for (const text of hostile) {
    const began = performance.now();
    readBlocks(text).forEach((block) => "text" in block && readSpans(block.text));
    splitAtCitations(text);
    wholeCitation(text);
    linkedCitation(text);
    assert.ok(performance.now() - began < 2_000, `${text.slice(0, 8)}: ${performance.now() - began} ms`);
  }
});

test("places in running text are found, and nothing else", () => {
  const found = (text: string) => splitAtCitations(text).flatMap((piece) => (typeof piece === "string" ? [] : [`${piece.path}|${piece.line}|${piece.endLine ?? ""}`]));
  assert.deepEqual(found("See src/a.rs:3, lib.ts:10-12 (and größe/naïve.py:7)."), ["src/a.rs|3|", "lib.ts|10|12", "größe/naïve.py|7|"]);
  assert.deepEqual(found("at 12:30, localhost:8080, http://example.invalid/a.html:80, a:b:3, 127.0.0.1:9, v1.2:3, x.rs:0"), []);
  assert.deepEqual(found("src/a.rs:10:5, src/b.rs#L10, c.ts#L3-L5 and c.ts#L3C1-L5C2"), ["src/a.rs|10|", "src/b.rs|10|", "c.ts|3|5", "c.ts|3|5"]);
  assert.deepEqual(found("../up.rs:1 /etc/hostname:2"), ["../up.rs|1|", "/etc/hostname|2|"]);
});

test("a code span may be a place as a whole", () => {
  assert.deepEqual(wholeCitation("My Notes/a b.md:4"), { path: "My Notes/a b.md", line: 4 });
  assert.deepEqual(wholeCitation("src/a.rs#L3-L5"), { path: "src/a.rs", line: 3, endLine: 5 });
  assert.deepEqual(wholeCitation("src/a.rs:3:9"), { path: "src/a.rs", line: 3 });
  assert.deepEqual(wholeCitation("C:\\x\\a.rs:3"), { path: "C:\\x\\a.rs", line: 3 });
  for (const text of ["javascript:alert(1)", "javascript:1", "https://example.invalid:3", "src/a.rs", "data:text/html,x:1", "command:a.b:1", "//host/a.rs:1"]) {
    assert.equal(wholeCitation(text), undefined, text);
  }
});

test("a link may lead to a file, and to nothing else", () => {
  const links = "[a](src/a.rs#L10) [b](<My Notes/a b.md:4-6>) [c](My%20Notes/a%20b.md#L4) [d](app/(home)/page.tsx:2) [e](README.md) [f](file:///w/x.rs#L2)";
  const targets = readSpans(links).flatMap((span) => (span.kind === "link" ? [linkedCitation(span.target)] : []));
  assert.deepEqual(targets, [
    { path: "src/a.rs", line: 10 },
    { path: "My Notes/a b.md", line: 4, endLine: 6 },
    { path: "My Notes/a b.md", line: 4 },
    { path: "app/(home)/page.tsx", line: 2 },
    { path: "README.md", line: 1 },
    { path: "/w/x.rs", line: 2 },
  ]);
  for (const target of ["javascript:alert(1)", "java%73cript:alert(1)", "https://example.invalid/a.html", "//example.invalid/a.rs", "command:a/b.c", "data:text/html,x", "#top", "vscode://a/b", "file://host/a.rs", "%"]) {
    assert.equal(linkedCitation(target), undefined, target);
  }
});
