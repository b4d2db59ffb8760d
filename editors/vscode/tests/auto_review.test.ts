/** Whether answers are reviewed by themselves, as the server's configuration says. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AutoReview } from "../src/client/auto_review.ts";
import type { Rpc } from "../src/client/rpc.ts";

/** A server whose row says `enabled`; `row` may be another. */
function server(enabled: boolean, row: (config: unknown) => object | undefined = (config) => ({ id: "tool-deliberation", disabled: false, config })) {
  const asked: [string, unknown][] = [];
  const state = { enabled };
  const rpc: Rpc = {
    methods: new Set(["review/start"]),
    request: async (method, params) => {
      asked.push([method, params]);
      if (method === "config/set") state.enabled = (params as { value: boolean }).value;
      return { rows: [row({ autoReview: { enabled: state.enabled } })].filter(Boolean) } as never;
    },
  };
  return { rpc, asked, state };
}

test("it is switched in the configuration, from what it is there now", async () => {
  let told = 0;
  const review = new AutoReview(() => (told += 1));
  const { rpc, asked, state } = server(false);
  await review.read(rpc, "file:///w");
  assert.deepEqual([review.isOn, told], [false, 1]);
  state.enabled = true;
  assert.equal(await review.toggle(rpc, "file:///w"), false);
  assert.deepEqual(asked.find(([method]) => method === "config/set"), ["config/set", { row: "tool-deliberation", path: "autoReview.enabled", value: false }]);
  assert.equal(review.isOn, false);
});

test("a server without reviews has nothing to switch", async () => {
  const gone = server(false, () => undefined);
  const disabled = server(true, (config) => ({ id: "tool-deliberation", disabled: true, config }));
  const old = server(true);
  old.rpc.methods = new Set();
  for (const { rpc } of [gone, disabled, old]) {
    const review = new AutoReview(() => {});
    await review.read(rpc, undefined);
    assert.equal(review.isOn, undefined);
    await assert.rejects(review.toggle(rpc, undefined), /reviews no answers/);
  }
});

test("of two readings the later one counts, whichever came back first", async () => {
  const answers: ((enabled: boolean) => void)[] = [];
  const rpc: Rpc = {
    methods: new Set(["review/start"]),
    request: () => new Promise((go) => answers.push((enabled) => go({ rows: [{ id: "tool-deliberation", disabled: false, config: { autoReview: { enabled } } }] } as never))),
  };
  const review = new AutoReview(() => {});
  const both = [review.read(rpc, undefined), review.read(rpc, undefined)];
  answers[1]?.(true);
  answers[0]?.(false);
  await Promise.all(both);
  assert.equal(review.isOn, true);
});
