/** The view without any editor: a plain page that plays the host, and every shared stream of events. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./install.mjs";

const fixtures = join(root, "protocol/fixtures");

/** In the page, before the view: what an editor would give it. */
function playHost() {
  window.sent = [];
  window.acquireVsCodeApi = () => ({ postMessage: (message) => window.sent.push(message), getState: () => undefined, setState: () => {} });
}

export const PLAIN_CASES = Object.fromEntries(
  readdirSync(fixtures)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => [
      `a plain page shows ${name}`,
      async ({ context, parts }) => {
        const page = await context.newPage();
        const errors = [];
        page.on("pageerror", (error) => errors.push(error.message));
        await page.setContent("<!DOCTYPE html><html><body></body></html>");
        await page.evaluate(playHost);
        await page.addStyleTag({ path: join(parts.extension, "media/chat.css") });
        await page.addScriptTag({ path: join(parts.extension, "dist/view.js") });
        const events = readFileSync(join(fixtures, name), "utf8").trim().split("\n").map((line) => JSON.parse(line));
        const chat = { server: { kind: "running" }, folder: "work", model: { name: "offline/retrieval", isOffline: true } };
        await page.evaluate((message) => window.postMessage(message), { type: "chat", chat });
        for (const event of events) await page.evaluate((message) => window.postMessage(message), { type: "events", events: [event] });
        const questions = events.filter(({ type, data }) => type === "user/message" && data.source.kind === "user").length;
        await page.waitForFunction((count) => document.querySelectorAll(".question:not(.notice, .waiting)").length === count, questions);
        const last = events.findLast(({ type }) => type === "turn/end");
        if (last) await page.waitForSelector(last.data.reason.kind === "completed" ? ".turn-end" : ".note.end", { state: "attached" });
        const count = (wanted) => events.filter(({ type }) => type === wanted).length;
        assert.equal(await page.locator(".deliberation").count(), count("deliberation/started"));
        assert.equal(await page.locator(".branch.settled").count(), events.filter(({ type, data }) => type === "deliberation/branch" && data.state === "settled").length);
        assert.equal(await page.locator(".evidence").count(), count("evidence/checked"));
        assert.equal(await page.locator(".transcript :is(script, img, style, a, iframe, form)").count(), 0);
        assert.equal((await page.evaluate(() => window.sent))[0].type, "ready");
        assert.deepEqual(errors, []);
        await page.close();
      },
    ]),
);
