/** A conversation over servers that come and go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event, Methods } from "#protocol";
import { Conversation } from "../src/client/conversation.ts";
import { ConnectionLost, type Rpc } from "../src/client/rpc.ts";

type Call = [method: string, params: Record<string, unknown>];

/** A conversation, and what it asked. `answer` may throw. */
function start(answer: (method: string, at: number) => unknown = () => undefined) {
  const calls: Call[] = [];
  const session = { sessionId: "s", workspace: "file:///w", model: { provider: "local", model: "m" } };
  const rpc = (): Rpc => ({
    methods: new Set<keyof Methods>(["command/list", "command/run"]),
    request: async (method, params) => {
      calls.push([method, params as Record<string, unknown>]);
      return (answer(method, calls.length) ?? { session, lastSeq: -1 }) as never;
    },
  });
  let ids = 0;
  const nothing = (): void => {};
  const conversation = new Conversation({ event: nothing, lagged: nothing, replaced: nothing, info: nothing, live: nothing, ran: nothing }, () => `id${++ids}`);
  const event = (type: string, seq: number, data: unknown): void =>
    conversation.receive({ method: "session/event", params: { sessionId: "s", event: { type, seq, time: 0, data } as Event } });
  return { conversation, calls, rpc, event };
}

const TEXT = [{ type: "text" as const, text: "hello" }];

test("the first prompt begins a session and subscribes before it asks", async () => {
  const { conversation, calls, rpc } = start();
  await conversation.connect(rpc());
  await conversation.prompt(TEXT, { workspace: "file:///w" });
  assert.deepEqual(calls.map(([method]) => method), ["session/new", "session/subscribe", "session/prompt"]);
});

test("two prompts at once go to one session, in their order", async () => {
  const { conversation, calls, rpc } = start();
  await conversation.connect(rpc());
  await Promise.all([conversation.prompt(TEXT, {}), conversation.prompt(TEXT, {})]);
  assert.deepEqual(calls.map(([method, params]) => params["clientMessageId"] ?? method), ["session/new", "session/subscribe", "id1", "id2"]);
});

test("a prompt waits for a server, and is sent again under its name when the answer was lost", async () => {
  const { conversation, calls, rpc } = start((method, at) => {
    if (method === "session/prompt" && at === 3) throw new ConnectionLost();
  });
  const asked = conversation.prompt(TEXT, {});
  await conversation.connect(rpc());
  await new Promise(setImmediate);
  conversation.disconnect();
  await conversation.connect(rpc());
  await asked;
  const prompts = calls.filter(([method]) => method === "session/prompt");
  assert.deepEqual(prompts.map(([, params]) => params["clientMessageId"]), ["id1", "id1"]);
});

test("the next server is asked for what follows the last event that is surely in the log", async () => {
  const { conversation, calls, rpc, event } = start();
  await conversation.connect(rpc());
  await conversation.prompt(TEXT, {});
  event("turn/start", 0, { turn: 1 });
  event("assistant/chunk", 1, { turn: 1, step: 1, chunk: { type: "text-delta", index: 0, text: "half" } });
  assert.equal(conversation.model.drafts.length, 1);
  conversation.disconnect();
  await conversation.connect(rpc());
  assert.deepEqual(calls.at(-1), ["session/subscribe", { sessionId: "s", after: 0 }]);
  event("assistant/chunk", 1, { turn: 1, step: 1, chunk: { type: "text-delta", index: 0, text: "half" } });
  event("turn/end", 2, { turn: 1, reason: { kind: "interrupted" } });
  event("turn/end", 2, { turn: 1, reason: { kind: "interrupted" } });
  assert.deepEqual(conversation.model.items.map(({ type }) => type), ["turn/start", "assistant/chunk", "turn/end"]);
});

test("a log that is shorter than what was seen is read from its beginning", async () => {
  const { conversation, calls, rpc, event } = start((method, at) => {
    if (method === "session/subscribe" && at === 5) throw Object.assign(new Error(), { code: -32803, data: { kind: "cursorInvalid" } });
  });
  await conversation.connect(rpc());
  await conversation.prompt(TEXT, {});
  event("turn/start", 0, { turn: 1 });
  conversation.disconnect();
  await conversation.connect(rpc());
  assert.deepEqual(calls.at(-1), ["session/subscribe", { sessionId: "s", after: -1 }]);
  assert.equal(conversation.model.items.length, 0);
});

test("a prompt fails when no server will come, and a session that is gone is left", async () => {
  const { conversation, rpc } = start(() => {
    throw Object.assign(new Error("no such session"), { code: -32803, data: { kind: "sessionNotFound" } });
  });
  const asked = conversation.prompt(TEXT, {});
  conversation.expectNone(new Error("not found"));
  await assert.rejects(asked, /not found/);
  await assert.rejects(conversation.prompt(TEXT, {}), /not found/);
  conversation.expectNone(undefined);
  await conversation.open("s");
  await assert.rejects(conversation.connect(rpc()), /no such session/);
  assert.equal(conversation.modelId, undefined);
});

const STARTED = { roundId: "r", by: "user", branches: [] };
const BRANCH = { sessionId: "s", roundId: "r", label: "audit", state: "running", elapsedMs: 1, remainingMs: 9 } as const;

test("a round runs if it began while the server looked on, or if the server speaks of it, and until the server ends", async () => {
  const { conversation, rpc, event } = start();
  const rounds = (): string[] => conversation.live.rounds.map(({ roundId }) => roundId);
  await conversation.connect(rpc());
  await conversation.open("s");
  event("deliberation/started", 0, STARTED);
  assert.deepEqual(rounds(), []);
  conversation.receive({ method: "session/caughtUp", params: { sessionId: "s", seq: 0 } });
  event("deliberation/started", 1, { ...STARTED, roundId: "new" });
  assert.deepEqual(rounds(), ["new"]);
  conversation.receive({ method: "deliberate/branch", params: BRANCH });
  assert.deepEqual(rounds(), ["new", "r"]);
  conversation.receive({ method: "deliberate/result", params: { sessionId: "s", seq: 2, roundId: "new", outcomes: [] } });
  assert.deepEqual(rounds(), ["r"]);
  conversation.disconnect();
  assert.deepEqual(rounds(), []);
});

test("a review runs from its claim to its settlement, is told before its row and ended after it, and ends with the server", async () => {
  const told: string[] = [];
  const reviews = (): string => conversation.live.reviews.map(({ reviewId, at }) => `${reviewId} ${at}`).join();
  const nothing = (): void => {};
  const conversation: Conversation = new Conversation({ event: ({ type }) => told.push(type), lagged: nothing, replaced: nothing, info: nothing, live: () => told.push(`live ${reviews()}`), ran: nothing }, () => "id");
  const { rpc } = start();
  await conversation.connect(rpc());
  await conversation.open("s");
  const event = (type: string, seq: number, reviewId: string): void =>
    conversation.receive({ method: "session/event", params: { sessionId: "s", event: { type, seq, time: 7, data: { reviewId } } as unknown as Event } });
  event("review/claimed", 0, "old");
  assert.deepEqual(told, ["review/claimed"]);
  conversation.receive({ method: "session/caughtUp", params: { sessionId: "s", seq: 0 } });
  event("review/released", 1, "old");
  event("review/claimed", 2, "new");
  assert.deepEqual(told.slice(1), ["live old 7", "review/released", "live ", "live new 7", "review/claimed"]);
  conversation.disconnect();
  assert.equal(reviews(), "");
});

test("the way back from a child's session leads to where its parent was, and reads on from there", async () => {
  const { conversation, calls, rpc, event } = start();
  await conversation.connect(rpc());
  await conversation.open("s");
  event("turn/start", 0, { turn: 1 });
  const { model } = conversation;
  await conversation.look("child");
  assert.deepEqual([conversation.isChild, conversation.model.lastSeq], [true, -1]);
  event("turn/end", 1, { turn: 1, reason: { kind: "completed" } });
  assert.equal(model.lastSeq, 0);
  await conversation.look("grandchild");
  await conversation.cancel();
  assert.deepEqual(calls.at(-1), ["session/cancel", { sessionId: "s" }]);
  await conversation.home();
  assert.equal(conversation.isChild, false);
  assert.equal(conversation.model, model);
  assert.deepEqual(calls.at(-1), ["session/subscribe", { sessionId: "s", after: 0 }]);
});

test("a child's session that is gone leads back at once", async () => {
  const { conversation, calls, rpc } = start((method, at) => {
    if (method === "session/get" && at === 4) throw Object.assign(new Error("no such session"), { code: -32803, data: { kind: "sessionNotFound" } });
  });
  await conversation.connect(rpc());
  await conversation.open("s");
  await assert.rejects(conversation.look("child"), /no such session/);
  assert.equal(conversation.isChild, false);
  assert.deepEqual(calls.at(-1), ["session/subscribe", { sessionId: "s", after: -1 }]);
});

const OFFERED = { commands: [{ name: "vote", description: "", arguments: "GOAL" }, { name: "count", description: "", arguments: "" }] };

test("a command runs in its session, and what it says comes there also when another one is shown", async () => {
  let done = (_result: { ok: boolean; text: string }): void => undefined;
  const { conversation, calls, rpc } = start((method) => {
    if (method === "command/list") return OFFERED;
    return method === "command/run" ? new Promise((go) => (done = go)) : undefined;
  });
  await conversation.connect(rpc());
  await conversation.open("s");
  const { model } = conversation;
  const said = (): unknown[] => model.items.flatMap((item) => (item.type === "command/run" ? [[item.line, item.result?.text]] : []));
  const ran = conversation.run("/vote\nis it?", undefined);
  await new Promise(setImmediate);
  assert.deepEqual(calls.slice(-2), [["command/list", { workspace: "file:///w" }], ["command/run", { sessionId: "s", line: "/vote\nis it?" }]]);
  assert.deepEqual(said(), [["/vote\nis it?", undefined]]);
  await conversation.look("child");
  done({ ok: true, text: "it is" });
  await ran;
  assert.deepEqual(said(), [["/vote\nis it?", "it is"]]);
  assert.deepEqual(conversation.model.items, []);
  await conversation.back();
  assert.equal(conversation.model, model);
});

test("a command that is not offered is refused with those that are, and so is one without a session", async () => {
  const { conversation, calls, rpc } = start((method) => (method === "command/list" ? OFFERED : undefined));
  await conversation.connect(rpc());
  await assert.rejects(conversation.run("/vot now", "file:///w"), /There is no command \/vot\. There are: \/vote GOAL, \/count\./);
  await assert.rejects(conversation.run("/vote now", "file:///w"), /no session yet/);
  assert.deepEqual(calls.map(([method]) => method), ["command/list", "command/list"]);
  await conversation.connect({ ...rpc(), methods: new Set() });
  await assert.rejects(conversation.run("/vote now", "file:///w"), /too old/);
});

test("a command that fails says so in its row", async () => {
  const { conversation, rpc } = start((method) => {
    if (method === "command/run") throw new ConnectionLost();
    return method === "command/list" ? OFFERED : undefined;
  });
  await conversation.connect(rpc());
  await conversation.open("s");
  await conversation.run("/count", undefined);
  const [row] = conversation.model.items;
  assert.deepEqual(row?.type === "command/run" && row.result, { ok: false, text: "the server ended before it answered" });
});

test("of the subagents that run, those of the session that is shown have a row there", async () => {
  const { conversation, rpc } = start();
  await conversation.connect(rpc());
  await conversation.open("s");
  const child = { childSessionId: "k", callId: "call_0", provider: "in-process" };
  conversation.receive({ method: "subagent/started", params: { ...child, parentSessionId: "s" } });
  conversation.receive({ method: "subagent/started", params: { ...child, parentSessionId: "other", childSessionId: "l" } });
  assert.deepEqual(conversation.liveHere.children.map(({ childSessionId }) => childSessionId), ["k"]);
});
