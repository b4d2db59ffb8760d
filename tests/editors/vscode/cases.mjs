/** What the extension does in the real host, one case after the other in one editor. */
import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./host.mjs";

const QUESTION = "where is Circle defined?";

export const CASES = {
  async "the chat opens with hints, the model and the offline badge"(chat) {
    await chat.see("Ask about work");
    await chat.frame.locator(".badge", { hasText: "offline" }).waitFor();
    await chat.frame.locator(".model", { hasText: "offline/retrieval" }).waitFor();
    await chat.shot("empty");
  },

  async "a question is answered with rows of tools and citations"(chat) {
    await chat.ask(QUESTION);
    await chat.settled();
    const tools = await chat.texts(".tool summary");
    assert.ok(tools.some((text) => /Search[^]*Circle[^]*matches/.test(text)), tools.join());
    assert.ok(tools.some((text) => /Read[^]*src\/shape\.rs[^]*lines/.test(text)), tools.join());
    assert.match((await chat.texts(".answer")).join(), /Circle is defined here/);
    assert.deepEqual(await chat.texts(".question"), [QUESTION]);
  },

  async "a row of a tool opens and shows its result"(chat) {
    await chat.frame.locator(".tool summary", { hasText: "Search" }).first().click();
    await chat.frame.locator(".tool[open] .row .citation", { hasText: "src/main.rs:6" }).waitFor();
  },

  async "a click on a citation opens the file at its line"(chat) {
    await chat.frame.locator(".answer .citation", { hasText: "src/shape.rs:8" }).first().click();
    await until("line 8", async () => (await chat.cursor()).includes("Ln 8,") && (await chat.activeTab()).includes("shape.rs"));
    await chat.shot("answer");
  },

  async "the selection becomes what the question is about"(chat) {
    await chat.page.locator(".editor-instance .monaco-editor .view-lines").first().click();
    await chat.page.keyboard.press("Control+a");
    await chat.command("dsh-ls: Ask About the Selection");
    await chat.frame.locator(".attachments .chip", { hasText: "src/shape.rs:1-12" }).waitFor();
    await chat.ask("what does area return?");
    await chat.settled();
    await chat.frame.locator(".question .chip", { hasText: "shape.rs:1-12" }).waitFor();
    assert.equal(await chat.frame.locator(".attachments").isVisible(), false);
    const sent = chat.events().find(({ type, data }) => type === "user/message" && data.content.length === 2);
    assert.deepEqual(sent.data.content[1].range, { startLine: 1, endLine: 12 });
  },

  async "the transcript is there again after the view was closed and after the window was loaded again"(chat) {
    const before = await chat.texts(".transcript > *");
    await chat.page.keyboard.press("Control+b");
    await until("no chat", async () => chat.frame.isDetached() || (await chat.frame.locator(".composer").count().catch(() => 0)) === 0);
    await chat.page.keyboard.press("Control+b");
    await chat.find();
    await until("the same rows", async () => JSON.stringify(closed(await chat.texts(".transcript > *"))) === JSON.stringify(closed(before)));
    await chat.open();
    await until("the same rows", async () => JSON.stringify(closed(await chat.texts(".transcript > *"))) === JSON.stringify(closed(before)));
  },

  async "the model picker says which models are ready, and a model can be named"(chat) {
    await chat.frame.locator(".model").click();
    const rows = chat.page.locator(".quick-input-list .monaco-list-row");
    await rows.filter({ hasText: "offline/retrieval" }).waitFor();
    await rows.filter({ hasText: /deepseek.*set DEEPSEEK_API_KEY/ }).first().waitFor();
    await chat.shot("models");
    await chat.nameModel("local/mock");
    await chat.frame.locator(".badge").waitFor({ state: "hidden" });
  },

  async "an answer grows while it is written, and is stopped with a button"(chat) {
    await chat.use("local/mock");
    await chat.ask("drip 100000 50");
    await until("a growing answer", async () => (await chat.texts(".answer")).join().includes("word20"));
    await chat.frame.locator(".composer .stop").click();
    await chat.see("Stopped.");
    await chat.settled();
    const text = (await chat.texts(".answer")).join();
    const end = chat.events().findLast(({ type }) => type === "assistant/message");
    assert.equal(end.data.interrupted, true);
    assert.equal(words(text), words(end.data.message.content[0].text));
  },

  async "a question that is asked meanwhile waits and is answered next"(chat) {
    await chat.use("local/mock");
    await chat.ask("drip 60 50");
    await chat.frame.locator(".composer .stop").waitFor();
    await chat.ask("and then?");
    await chat.frame.locator(".question.waiting", { hasText: "and then?" }).waitFor();
    await chat.see("I heard: and then?");
    await chat.settled();
    assert.deepEqual(await chat.texts(".question"), ["drip 60 50", "and then?"]);
  },

  async "the command stops an answer and drops what waits behind it"(chat) {
    await chat.use("local/mock");
    await chat.ask("drip 100000 50");
    await until("a growing answer", async () => (await chat.texts(".answer")).join().includes("word20"));
    await chat.ask("too late");
    await chat.frame.locator(".question.waiting").waitFor();
    await chat.command("dsh-ls: Stop the Answer");
    await chat.see("Stopped.");
    chat.asked -= 1;
    await chat.settled();
    assert.deepEqual(await chat.texts(".question"), ["drip 100000 50"]);
  },

  async "a server that is killed in the middle of an answer comes back, and nothing is lost or doubled"(chat) {
    await chat.use("local/mock");
    await chat.ask("drip 100000 50");
    await until("a growing answer", async () => (await chat.texts(".answer")).join().includes("word20"));
    chat.kill();
    await chat.see("Interrupted");
    await chat.settled();
    await chat.shot("interrupted");
    await chat.ask("are you there?");
    await chat.see("I heard: are you there?");
    await chat.settled();
    assert.deepEqual(await chat.texts(".question"), ["drip 100000 50", "are you there?"]);
    const events = chat.events();
    assert.deepEqual(events.map(({ seq }) => seq), events.map((_, at) => at));
    assert.equal((await chat.texts(".note.end")).length, 1);
  },

  async "a page does not obey what a model says"(chat) {
    await chat.use("local/mock");
    await chat.ask("hostile");
    await chat.settled();
    const found = await chat.frame.evaluate(() => ({
      title: document.title,
      elements: document.querySelectorAll(".transcript :is(script, img, style, a, iframe, form, input)").length,
      text: document.querySelector(".answer").innerText,
    }));
    assert.equal(found.elements, 0);
    assert.notEqual(found.title, "obeyed");
    assert.match(found.text, /<script>document\.title/);
    assert.match(found.text, /\[press\]\(javascript:alert\(1\)\) away \(https:/);
  },

  async "a citation that leads outside, through a link or nowhere is refused in words"(chat) {
    const tab = await chat.activeTab();
    for (const [citation, words] of [["../outside.txt:1", /outside the folder/], ["/etc/hostname:1", /outside the folder/], ["link.txt:1", /outside the folder/], ["src/missing.rs:3", /is not there/]]) {
      await chat.frame.locator(".answer .citation", { hasText: citation }).first().click();
      const toast = chat.page.locator(".notification-toast", { hasText: words });
      await toast.first().waitFor();
      await toast.first().hover();
      await toast.first().locator(".codicon-notifications-clear").click();
      await toast.first().waitFor({ state: "detached" });
    }
    assert.equal(await chat.activeTab(), tab);
  },

  async "a model that fails is told with what can be done"(chat) {
    await chat.use("local/mock");
    await chat.ask("fail");
    await chat.frame.locator(".note.bad").waitFor({ timeout: 60_000 });
    assert.match((await chat.texts(".note.bad")).join(), /out of breath/);
    await chat.shot("error");
    await chat.frame.locator(".note.bad button", { hasText: "Ask again" }).click();
    await until("a second question", async () => (await chat.texts(".question")).length === 2);
    chat.asked += 1;
    await chat.settled();
  },

  async "an earlier session is listed by its first question and goes on"(chat) {
    await chat.command("dsh-ls: Earlier Sessions");
    await chat.page.locator(".quick-input-list .monaco-list-row", { hasText: QUESTION }).first().click();
    await chat.see("Circle is defined here");
    await chat.frame.locator(".model", { hasText: "offline/retrieval" }).waitFor();
    chat.asked = await chat.frame.locator(".question").count();
    await chat.ask("where is Verdict defined?");
    await chat.settled();
    assert.match((await chat.texts(".answer")).at(-1), /src\/policy\.rs:1/);
  },

  async "a long answer is shown to its end"(chat) {
    await chat.use("local/mock");
    await chat.ask("drip 4000 2000");
    await until("the last word", async () => (await chat.texts(".answer")).join().includes("word3998"), 40_000);
    await chat.settled();
    const isAtEnd = await chat.frame.evaluate(() => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".scroller");
      return scrollHeight - scrollTop - clientHeight < 4;
    });
    assert.ok(isAtEnd, "the end is in sight");
  },

  async "a server that keeps ending is not started for ever"(chat) {
    const crasher = join(chat.host.place, "crasher");
    writeFileSync(crasher, "#!/bin/sh\nexit 3\n");
    chmodSync(crasher, 0o755);
    chat.host.set({ "dsh-ls.server.path": crasher });
    await chat.see("keeps ending", 40_000);
    await chat.frame.locator(".banner button", { hasText: "Show log" }).waitFor();
  },

  async "a server that is missing is told with what can be done, and is found when it is there"(chat) {
    chat.host.set({ "dsh-ls.server.path": "/nowhere/dsh-ls" });
    await chat.see("There is no program at /nowhere/dsh-ls");
    await chat.shot("missing");
    chat.host.set({});
    await chat.frame.getByText("There is no program").waitFor({ state: "detached" });
    await chat.use("offline/retrieval");
    await chat.ask(QUESTION);
    await chat.settled();
    assert.match((await chat.texts(".answer")).join(), /Circle is defined here/);
  },

  async "an answer with all that Markdown has reads well in the dark, too"(chat) {
    const ground = () => chat.frame.evaluate(() => getComputedStyle(document.querySelector(".box")).backgroundColor);
    await chat.use("local/mock");
    await chat.ask("showcase");
    await chat.settled();
    assert.equal(await chat.frame.locator(".answer :is(h3, strong, em, pre, blockquote, .item)").count(), 10);
    const light = await ground();
    await chat.command("Preferences: Toggle between Light/Dark Themes");
    await until("another ground", async () => (await ground()) !== light);
    await chat.shot("dark");
  },

  async "with several folders a new session asks which"(chat) {
    // Now and then the editor itself comes up with a workspace of no folders.
    await until("both folders", async () => {
      await chat.open(`?workspace=${chat.host.place}/both.code-workspace`);
      return chat.see("Ask about work", 8_000).then(() => true, () => false);
    }, 60_000);
    await chat.command("dsh-ls: New Session");
    await chat.page.locator(".quick-input-list .monaco-list-row", { hasText: "other" }).click();
    await chat.see("Ask about other");
    chat.asked = 0;
    await chat.ask("showcase");
    await chat.settled();
    assert.ok(chat.logs().some((name) => name.includes("other")));
  },

  async "without a folder the chat says what to do"(chat) {
    await chat.open("?ew=true");
    await chat.see("No folder is open");
    await chat.frame.locator("button", { hasText: "Open folder" }).waitFor();
    assert.equal(await chat.frame.locator("textarea").isDisabled(), true);
  },
};

/** Rows with what is open in them left out. */
function closed(rows) {
  return rows.map((row) => row.split("\n").slice(0, 3));
}

function words(text) {
  return text.match(/word\d+/g).join(" ");
}
