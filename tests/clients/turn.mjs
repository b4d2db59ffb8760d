/** Drives a whole turn over `dsh-ls lsp` with VS Code's own protocol library. Usage: node turn.mjs DSH_LS */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import rpc from "vscode-languageserver-protocol/node";

const folder = mkdtempSync(join(tmpdir(), "dsh-ls-client-"));
const file = join(folder, "shape.rs");
writeFileSync(file, "pub struct Circle;\n");

const server = spawn(process.argv[2], ["lsp", "--home", join(folder, "home")], {
  stdio: ["pipe", "pipe", "inherit"],
});
const exited = new Promise((resolve) => server.on("exit", resolve));
const connection = rpc.createProtocolConnection(
  new rpc.StreamMessageReader(server.stdout),
  new rpc.StreamMessageWriter(server.stdin),
);
const events = [];
const progress = [];
let created = 0;
connection.onNotification("session/event", ({ event }) => events.push(event));
connection.onNotification("$/progress", ({ value }) => progress.push(value.kind));
connection.onRequest("window/workDoneProgress/create", () => {
  created += 1;
  return null;
});
connection.listen();

const uri = pathToFileURL(folder).href;
const initialized = await connection.sendRequest("initialize", {
  processId: process.pid,
  rootUri: uri,
  workspaceFolders: [{ uri, name: "folder" }],
  capabilities: { window: { workDoneProgress: true }, general: { positionEncodings: ["utf-16"] } },
  initializationOptions: { protocolVersions: ["1.0"] },
});
assert.equal(initialized.serverInfo.name, "dsh-ls");
assert.equal(initialized.capabilities.positionEncoding, "utf-16");
assert.equal(initialized.capabilities.experimental.dsh.protocolVersion, "1.0");
await connection.sendNotification("initialized", {});

// What is open and not saved is what the tools see.
const document = pathToFileURL(file).href;
await connection.sendNotification("textDocument/didOpen", {
  textDocument: { uri: document, languageId: "rust", version: 1, text: "pub struct Circle;\n" },
});
await connection.sendNotification("textDocument/didChange", {
  textDocument: { uri: document, version: 2 },
  contentChanges: [
    { range: { start: { line: 1, character: 0 }, end: { line: 1, character: 0 } }, text: "/* 🙂 */ pub struct Unsaved;\n" },
    { range: { start: { line: 1, character: 20 }, end: { line: 1, character: 27 } }, text: "Unseen" },
  ],
});
const found = await connection.sendRequest("tool/call", { name: "grep", arguments: { pattern: "struct \\w+;" } });
assert.deepEqual(
  found.value.matches.map(({ line, text }) => [line, text]),
  [[1, "pub struct Circle;"], [2, "/* 🙂 */ pub struct Unseen;"]],
);

const { session } = await connection.sendRequest("session/new", {});
const sessionId = session.sessionId;
await connection.sendRequest("session/subscribe", { sessionId, after: -1 });
const { messageId } = await connection.sendRequest("session/prompt", { sessionId, text: "where is Unseen defined?" });
const waited = await connection.sendRequest("session/wait", { sessionId, messageId });
assert.equal(waited.outcome.kind, "completed");
assert.match(waited.text, /shape\.rs:2/);

const { events: log, lastSeq } = await connection.sendRequest("session/events", { sessionId, limit: 5000 });
while (events.length <= lastSeq) await new Promise((resolve) => connection.onNotification("session/event", ({ event }) => resolve(events.push(event))));
assert.deepEqual(events.map(({ seq }) => seq), log.map((_, seq) => seq));
assert.deepEqual(events, log);
assert.equal(events.filter(({ type }) => type === "turn/end").length, 1);
while (progress.length < 2) await new Promise((resolve) => connection.onNotification("$/progress", ({ value }) => resolve(progress.push(value.kind))));
assert.equal(created, 1);
assert.deepEqual([progress[0], progress.at(-1)], ["begin", "end"]);

await connection.sendRequest("shutdown");
await connection.sendNotification("exit");
assert.equal(await exited, 0);
connection.dispose();
console.log("1 passed, 0 failed");
