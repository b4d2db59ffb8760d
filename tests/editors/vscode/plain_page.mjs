/** The view without any editor: a plain page that plays the host, and every shared stream of events. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./install.mjs";

const fixtures = join(root, "protocol/fixtures");
const NAMES = readdirSync(fixtures).filter((name) => name.endsWith(".jsonl"));
const CHAT = { server: { kind: "running" }, folder: "work", model: { name: "offline/retrieval", isOffline: true } };
/** A session without events, as a host shows it. */
const NONE = { lastSeq: -1, settledSeq: -1, inTurn: false, inStep: false, items: [], drafts: [], hasGap: false, queue: { "next-step": [], "next-turn": [] }, claimed: [], asked: [] };

/** In the page, before the view: what an editor would give it. */
function playHost() {
  window.sent = [];
  window.acquireVsCodeApi = () => ({ postMessage: (message) => window.sent.push(message), getState: () => undefined, setState: () => {} });
}

/** A page with the view, and the errors that it throws. */
async function open({ context, parts }) {
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.setContent("<!DOCTYPE html><html><body></body></html>");
  await page.evaluate(playHost);
  await page.addStyleTag({ path: join(parts.extension, "media/chat.css") });
  await page.addScriptTag({ path: join(parts.extension, "dist/view.js") });
  /** Sends all at once: the page shows nothing in between. */
  const send = (...messages) => page.evaluate((all) => all.forEach((message) => window.postMessage(message)), messages);
  await send({ type: "chat", chat: CHAT });
  return { page, errors, send };
}

function read(name) {
  return readFileSync(join(fixtures, name), "utf8").trim().split("\n").map((line) => JSON.parse(line));
}

const EACH = Object.fromEntries(
  NAMES.map((name) => [
    `a plain page shows ${name}`,
    async (chat) => {
      const { page, errors, send } = await open(chat);
      const events = read(name);
      for (const event of events) await send({ type: "events", events: [event] });
      const questions = events.filter(({ type, data }) => type === "user/message" && data.source.kind === "user").length;
      await page.waitForFunction((count) => document.querySelectorAll(".question:not(.notice, .waiting)").length === count, questions);
      const last = events.findLast(({ type }) => type === "turn/end");
      if (last) await page.waitForSelector(last.data.reason.kind === "completed" ? ".turn-end" : ".note.end", { state: "attached" });
      const count = (wanted) => events.filter(({ type }) => type === wanted).length;
      assert.equal(await page.locator(".deliberation").count(), count("deliberation/started"));
      assert.equal(await page.locator(".branch.settled").count(), events.filter(({ type, data }) => type === "deliberation/branch" && data.state === "settled").length);
      assert.equal(await page.locator(".evidence").count(), count("evidence/checked"));
      assert.equal(await page.locator(".review").count(), count("review/claimed"));
      assert.equal(await page.locator(".review .finding.accepted").count(), events.filter(({ type, data }) => type === "review/item" && data.state === "accepted").length);
      assert.equal(await page.locator(".transcript :is(script, img, style, a, iframe, form)").count(), 0);
      assert.equal((await page.evaluate(() => window.sent))[0].type, "ready");
      assert.deepEqual(errors, []);
      await page.close();
    },
  ]),
);

export const PLAIN_CASES = {
  ...EACH,

  async "a plain page that shows its session again, with another server, stays where the reader is"(chat) {
    const { page, errors, send } = await open(chat);
    await page.setViewportSize({ width: 320, height: 300 });
    const show = { type: "show", model: NONE, generation: 1, chat: CHAT, live: { rounds: [], children: [], reviews: [] } };
    // A new question takes the reader to the end, as it should.
    const events = read("deliberation.jsonl").filter(({ type }) => type !== "user/message");
    const again = () => send(show, { type: "events", events });
    const top = () => page.evaluate(() => document.querySelector(".scroller").scrollTop);
    await again();
    await page.waitForFunction(() => document.querySelector(".scroller").scrollTop > 100);
    await page.evaluate(() => {
      const scroller = document.querySelector(".scroller");
      const ended = new Promise((done) => scroller.addEventListener("scrollend", done, { once: true }));
      scroller.scrollTop = 40;
      return ended;
    });
    await again();
    await send({ type: "command", command: { id: "1", line: "/shown", result: { ok: true, text: "after that" } } });
    await page.waitForSelector(".note.command");
    assert.equal(await top(), 40);
    await send({ ...show, generation: 2 }, { type: "events", events });
    await page.waitForFunction(() => document.querySelector(".scroller").scrollTop > 100);
    assert.deepEqual(errors, []);
    await page.close();
  },

  async "a plain page shows nothing of one session in another, however fast they follow each other"(chat) {
    const { page, errors, send } = await open(chat);
    let generation = 0;
    const none = () => ({ type: "show", model: NONE, generation: (generation += 1), chat: CHAT, live: { rounds: [], children: [], reviews: [] } });
    const rows = () => page.evaluate(() => [...document.querySelectorAll(".transcript > *")].map((row) => `${row.className} ${row.textContent}`).join("\n"));
    const shown = (wanted) => page.waitForFunction((text) => [...document.querySelectorAll(".transcript > *")].map((row) => `${row.className} ${row.textContent}`).join("\n") === text, wanted);
    const alone = new Map();
    for (const name of NAMES) {
      await send(none());
      await shown("");
      await send({ type: "events", events: read(name) });
      await page.waitForSelector(".transcript > *", { state: "attached" });
      alone.set(name, await rows());
    }
    for (const [at, name] of NAMES.entries()) {
      const before = NAMES.at(at - 1);
      await send(none(), { type: "events", events: read(before) });
      await shown(alone.get(before));
      await send(none(), { type: "events", events: read(name) });
      await shown(alone.get(name)).catch(async (error) => {
        throw new Error(`${name} after ${before}: ${error.message}\n${await rows()}\ninstead of\n${alone.get(name)}`);
      });
    }
    assert.deepEqual(errors, []);
    await page.close();
  },
};
