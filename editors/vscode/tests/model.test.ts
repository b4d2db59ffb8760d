/** The model folds the shared event streams to the shared texts, however the events arrive. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Event } from "#protocol";
import { apply, noteCommand, noteLag, rewind } from "../src/model/apply.ts";
import { emptyModel, type Model } from "../src/model/items.ts";
import { emptyLive, endChild, endRound, noteBranch, noteChild, noteReview, noteRound, timesAt, toClock } from "../src/model/live.ts";
import { transcript } from "../src/model/transcript.ts";

const fixtures = join(__dirname, "../../../../protocol/fixtures");
const names = readdirSync(fixtures).filter((name) => name.endsWith(".jsonl")).map((name) => name.slice(0, -6));

function events(name: string): Event[] {
  const lines = readFileSync(join(fixtures, `${name}.jsonl`), "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Event);
}

function fold(stream: readonly Event[], from: Model = emptyModel()): Model {
  for (const event of stream) apply(from, event);
  return from;
}

/** A model as a webview gets it. */
function sent(model: Model): Model {
  return JSON.parse(JSON.stringify(model)) as Model;
}

const isChunk = ({ type }: Event): boolean => type === "assistant/chunk";

test("there are fixtures", () => assert.ok(names.length >= 10));

for (const name of names) {
  test(`${name} folds to its text`, () => {
    assert.equal(transcript(fold(events(name))), readFileSync(join(fixtures, `${name}.txt`), "utf8"));
  });

  test(`${name} folds alike at once, in two parts with a crossing between them, and when events come twice`, () => {
    const stream = events(name);
    const whole = fold(stream);
    for (let cut = 0; cut <= stream.length; cut += 1) {
      const parts = fold(stream.slice(cut), sent(fold(stream.slice(0, cut))));
      assert.deepEqual(parts, whole);
      assert.deepEqual(fold(stream.slice(cut), fold(stream)), whole);
    }
  });

  test(`${name} folds alike without its chunks`, () => {
    const stream = events(name);
    assert.deepEqual(fold(stream.filter((event) => !isChunk(event))), fold(stream));
  });

  test(`${name} folds alike after the server was another one at any place, and had lost the last chunks`, () => {
    const stream = events(name);
    const whole = fold(stream);
    for (let cut = 0; cut <= stream.length; cut += 1) {
      const model = fold(stream.slice(0, cut));
      rewind(model);
      assert.deepEqual(fold(stream.filter(({ seq }) => seq > model.lastSeq), model), whole);
    }
  });

  test(`${name} shows before each answer what the answer says then`, () => {
    const model = emptyModel();
    for (const event of events(name)) {
      const before = event.type === "assistant/message" ? sent(model).drafts : [];
      apply(model, event);
      for (const draft of before.filter(({ block }) => block !== "tool-call")) {
        const item = model.items.find((each) => each.type === "assistant/message" && each.key === draft.key);
        if (item?.type === "assistant/message") assert.ok(item.text.startsWith(draft.text), draft.key);
      }
    }
  });
}

test("an event of an unknown type is passed over, and counts", () => {
  const model = fold(events("plain_answer"));
  const before = transcript(model);
  for (const type of ["weather/changed", "constructor", "__proto__"]) {
    const seq = model.lastSeq + 1;
    apply(model, { type, seq, time: 0, data: {} } as unknown as Event);
    assert.equal(transcript(model), before);
    assert.equal(model.lastSeq, seq);
  }
});

test("a gap in the chunks is told until the message comes", () => {
  const stream = events("plain_answer");
  const at = stream.findIndex(({ type }) => type === "assistant/message");
  const model = fold(stream.slice(0, at));
  noteLag(model);
  assert.equal(model.hasGap, true);
  assert.deepEqual(fold(stream.slice(at), model), fold(stream));
});

test("a call is shown with its result, whichever came in which order", () => {
  const { items } = fold(events("parallel_tools"));
  const calls = items.flatMap((item) => (item.type === "tool/call" ? [item] : []));
  assert.equal(calls.length, 2);
  for (const call of calls) {
    const result = items[call.result ?? -1];
    assert.ok(result?.type === "tool/result" && result.callId === call.callId);
  }
});

test("what was written before the server died stays, and is no part of the printed text", () => {
  const stream = events("plain_answer");
  const at = stream.findIndex(({ type }) => type === "assistant/message");
  const model = fold(stream.slice(0, at));
  const [draft] = model.drafts;
  const end = { type: "turn/end", seq: model.lastSeq + 1, time: 0, data: { turn: 1, reason: { kind: "interrupted" } } };
  apply(model, end as Event);
  assert.ok(model.items.some((item) => item.type === "assistant/chunk" && item.text === draft?.text));
  assert.ok(!transcript(model).includes("say"));
});

test("a round is one item, from its branches waiting to what they found", () => {
  const stream = events("deliberation");
  const states = (until: string): string[][] => {
    const at = stream.findLastIndex(({ type, data }) => type === until && (data as { roundId: string }).roundId === "r1");
    return fold(stream.slice(0, at + 1)).items.flatMap((item) => (item.type === "deliberation/started" ? [item.branches.map(({ plan, state }) => `${plan.label} ${state}`)] : []));
  };
  assert.deepEqual(states("deliberation/started"), [["other waiting", "audit waiting", "again waiting"]]);
  assert.deepEqual(states("deliberation/branch"), [["other settled", "audit settled", "again settled"]]);
  const [first, second] = fold(stream).items.flatMap((item) => (item.type === "deliberation/started" ? [item] : []));
  assert.ok(first?.isSettled && second?.isSettled);
  assert.deepEqual(first.branches.map(({ childSessionId, stopReason }) => [childSessionId, stopReason]), [["k1", "timeout"], ["k2", "completed"], [undefined, "no-completed-step"]]);
  assert.deepEqual(first.branches.map(({ outcome }) => outcome?.packet?.items?.length), [undefined, 1, undefined]);
});

test("a round has its goal, from a log that names one", () => {
  const started = events("deliberation").find((event) => event.type === "deliberation/started");
  assert.ok(started?.type === "deliberation/started");
  const goalOf = (event: Event): unknown => fold([event]).items.map((item) => (item.type === "deliberation/started" ? item.goal : item.type));
  assert.deepEqual(goalOf(started), [undefined]);
  assert.deepEqual(goalOf({ ...started, data: { ...started.data, goal: "Is it safe?" } }), ["Is it safe?"]);
});

test("a command is one item, from when it runs to what it said, and no part of the printed text", () => {
  const stream = events("plain_answer");
  const model = fold(stream.slice(0, 3));
  noteCommand(model, { id: "1", line: "/vote" });
  fold(stream.slice(3), model);
  noteCommand(model, { id: "2", line: "/vote" });
  noteCommand(model, { id: "1", line: "/vote", result: { ok: true, text: "done" } });
  const commands = model.items.flatMap((item) => (item.type === "command/run" ? [[item.id, item.result?.text]] : []));
  assert.deepEqual(commands, [["1", "done"], ["2", undefined]]);
  assert.equal(transcript(model), transcript(fold(stream)));
});

test("the checked citations stand under their answer", () => {
  const { items } = fold(events("evidence"));
  const at = items.findIndex(({ type }) => type === "evidence/checked");
  const [answer, checked] = items.slice(at - 1, at + 1);
  assert.equal(answer?.type, "assistant/message");
  assert.ok(checked?.type === "evidence/checked" && checked.checked === 6 && checked.failures.length === 5);
  assert.deepEqual(checked.states, ["open", "open", "open", "open", "dismissed"]);
});

test("a review is one item, and the answer that it looks at is a draft until it has come out", () => {
  const stream = events("review");
  const until = (seq: number) => {
    const { items } = fold(stream.slice(0, seq + 1));
    const reviews = items.flatMap((item) => (item.type === "review/claimed" ? [`${item.reviewId} ${item.childSessionId ?? "-"} ${item.outcome?.status ?? "runs"}`] : []));
    const drafts = items.flatMap((item) => (item.type === "assistant/message" && item.isDraft ? [item.text] : []));
    return [reviews, drafts];
  };
  const [first, second] = ["Only src/main.rs calls it.", "Two places call it: src/main.rs:4 and tests/parser.rs:12."];
  assert.deepEqual(until(20), [["v0 - runs"], [first]]);
  assert.deepEqual(until(21), [["v0 - released"], []]);
  assert.deepEqual(until(23), [["v0 - released", "v1 v1 runs"], [first]]);
  assert.deepEqual(until(24), [["v0 - released", "v1 v1 update"], []]);
  assert.deepEqual(until(38), [["v0 - released", "v1 v1 update", "v2 v2 runs"], [second]]);
  assert.deepEqual(until(39), [["v0 - released", "v1 v1 update", "v2 v2 failed"], []]);
});

test("two reviews of one answer leave it a draft until both have come out", () => {
  const stream = events("review").slice(0, 21);
  const model = fold(stream);
  const isDraft = () => model.items.some((item) => item.type === "assistant/message" && item.isDraft);
  const next = (type: string, data: object): void => apply(model, { type, seq: model.lastSeq + 1, time: 0, data: { turn: 1, ...data } } as unknown as Event);
  next("review/claimed", { reviewId: "w", by: "user", configHash: "", draftSeq: 18 });
  next("review/settled", { reviewId: "v0", status: "no_update", published: false });
  assert.equal(isDraft(), true);
  next("review/settled", { reviewId: "w", status: "cancelled", published: false });
  assert.equal(isDraft(), false);
});

test("what a person says of a finding stays when the step fails that was to take the review in", () => {
  const model = fold(events("review"));
  const states = () => model.items.flatMap((item) => (item.type === "review/claimed" && item.outcome?.status === "update" ? [item.outcome.reason, ...item.outcome.items.map(({ state }) => state)] : []));
  const settled = events("review").find(({ type }) => type === "review/settled");
  assert.deepEqual(states(), [undefined, "accepted"]);
  apply(model, { ...settled, seq: model.lastSeq + 1, data: { ...settled?.data, reason: "notice-step-failed" } } as Event);
  assert.deepEqual(states(), ["notice-step-failed", "accepted"]);
  apply(model, { type: "review/item", seq: model.lastSeq + 1, time: 0, data: { reviewId: "v1", index: 7, state: "dismissed" } } as Event);
  assert.deepEqual(states(), ["notice-step-failed", "accepted"]);
});

test("what a plugin says in one line of its message is known", () => {
  const summaries = fold(events("review")).items.flatMap((item) => (item.type === "user/message" ? [item.summary] : []));
  assert.deepEqual(summaries, [undefined, "masked review checkpoint · update · 1 items"]);
});

test("a review runs from its claim until it came out, and its time passes by each clock", () => {
  const live = emptyLive();
  const told = events("review").map((event) => noteReview(live, event) && live.reviews.map(({ reviewId }) => reviewId)).filter(Boolean);
  assert.deepEqual(told, [["v0"], [], ["v1"], [], ["v2"], []]);
  noteReview(live, { type: "review/claimed", seq: 1, time: 1_000, data: { reviewId: "r" } } as Event);
  assert.deepEqual(toClock(live, 4_000, 50).reviews, [{ reviewId: "r", at: -2_950 }]);
  // Clocks of two machines may differ: nothing begins in the future.
  assert.deepEqual(toClock(live, 900, 50).reviews, [{ reviewId: "r", at: 50 }]);
});

test("what runs is known until it is over, and its time passes by each clock", () => {
  const live = emptyLive();
  const branch = { sessionId: "s", roundId: "r", label: "__proto__", state: "running", elapsedMs: 1_000, remainingMs: 9_000 } as const;
  noteRound(live, "r");
  noteBranch(live, branch, 100);
  noteBranch(live, { ...branch, activity: "grep", elapsedMs: 3_000, remainingMs: 7_000 }, 2_100);
  const [there] = toClock(live, 4_100, 50).rounds[0]?.branches ?? [];
  assert.deepEqual(there, { label: "__proto__", activity: "grep", elapsedMs: 5_000, remainingMs: 5_000, at: 50 });
  assert.deepEqual(there && timesAt(there, 10_050), { elapsedMs: 15_000, remainingMs: 0 });
  noteBranch(live, { ...branch, state: "settled" }, 5_000);
  assert.deepEqual(live.rounds, [{ roundId: "r", branches: [] }]);
  endRound(live, "r");
  const child = { parentSessionId: "s", childSessionId: "k", provider: "in-process", label: "count" };
  noteChild(live, child);
  assert.deepEqual(live.children, []);
  noteChild(live, { ...child, callId: "c" });
  assert.deepEqual(live.children, [{ parentSessionId: "s", callId: "c", childSessionId: "k" }]);
  endChild(live, child);
  assert.deepEqual(live, emptyLive());
});
