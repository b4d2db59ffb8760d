/** What the extension does in the real host, one case after the other in one editor. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AGENT_CASES } from "./agent_cases.mjs";
import { QUESTION } from "./chat_page.mjs";
import { until } from "./host.mjs";
import { REVIEW_CASES } from "./review_cases.mjs";

export const CASES = {
  async "the chat opens with hints, the model and the offline badge"(chat) {
    await chat.see("Ask about work");
    await chat.frame.locator(".badge", { hasText: "offline" }).waitFor();
    await chat.frame.locator(".model", { hasText: "offline/retrieval" }).waitFor();
    assert.deepEqual(await chat.isCut(), []);
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
    await chat.have("offline/retrieval", QUESTION);
    await chat.frame.locator(".tool summary", { hasText: "Search" }).first().click();
    await chat.frame.locator(".tool[open] .row .citation", { hasText: "src/main.rs:6" }).waitFor();
  },

  async "a click on a citation opens the file at its line"(chat) {
    await chat.have("offline/retrieval", QUESTION);
    await chat.frame.locator(".answer .citation", { hasText: "src/shape.rs:8" }).first().click();
    await until("line 8", async () => (await chat.cursor()).includes("Ln 8,") && (await chat.activeTab()).includes("shape.rs"));
    assert.deepEqual(await chat.isCut(), []);
    await chat.shot("answer");
  },

  async "the selection becomes what the question is about"(chat) {
    await chat.have("offline/retrieval", QUESTION);
    await chat.openFile("shape.rs");
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

  async "the transcript and what was typed are there again after the view was closed and after the window was loaded again"(chat) {
    await chat.have("offline/retrieval", QUESTION);
    const before = await chat.rows();
    await chat.frame.locator("textarea").fill("half a question");
    await chat.closeAndOpen();
    assert.equal(await chat.frame.locator("textarea").inputValue(), "half a question");
    await chat.frame.locator("textarea").fill("");
    await until("the same rows", async () => (await chat.rows()) === before);
    await chat.open();
    await until("the same rows", async () => (await chat.rows()) === before);
  },

  async "the model picker says which models are ready, and a model can be named"(chat) {
    await chat.frame.locator(".model").click();
    const rows = chat.page.locator(".quick-input-list .monaco-list-row");
    await rows.filter({ hasText: "offline/retrieval" }).waitFor();
    await rows.filter({ hasText: /deepseek.*set DEEPSEEK_API_KEY/ }).first().waitFor();
    await chat.shot("models");
    await chat.nameModel("local/mock");
    await chat.frame.locator(".badge").waitFor({ state: "hidden" });
    await chat.use("offline/retrieval");
  },

  async "the session that is open goes on with the chosen model, and back"(chat) {
    await chat.have("offline/retrieval", QUESTION);
    const sessions = chat.logs().length;
    await chat.frame.locator(".model").click();
    await chat.nameModel("local/mock");
    await chat.see("From here on: local/mock");
    await chat.ask("who are you?");
    await chat.see("I heard: who are you?");
    await chat.settled();
    await chat.frame.locator(".model").click();
    await chat.page.locator(".quick-input-list .monaco-list-row", { hasText: "offline/retrieval" }).click();
    await chat.frame.locator(".badge", { hasText: "offline" }).waitFor();
    await chat.see("From here on: offline/retrieval");
    const models = chat.events().flatMap(({ type, data }) => (type === "session/model" ? [data.model] : []));
    assert.deepEqual(models.slice(-2), ["mock", "retrieval"]);
    assert.equal(chat.logs().length, sessions);
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

  async "the keyboard is enough: a new line, sending, stopping, and the way to every button"(chat) {
    await chat.use("local/mock");
    const focus = () => chat.frame.evaluate(() => document.activeElement.getAttribute("aria-label"));
    await chat.command("dsh-ls: Open the Chat");
    await chat.focused();
    await chat.page.keyboard.type("drip 100000 50");
    await chat.page.keyboard.press("Shift+Enter");
    await chat.page.keyboard.type("and a second line");
    assert.equal(await chat.frame.locator("textarea").inputValue(), "drip 100000 50\nand a second line");
    await chat.page.keyboard.press("Tab");
    assert.equal(await focus(), "Model: local/mock");
    await chat.page.keyboard.press("Tab");
    assert.equal(await focus(), "Review answers automatically");
    await chat.page.keyboard.press("Tab");
    assert.equal(await focus(), "Send");
    await chat.page.keyboard.press("Shift+Tab");
    await chat.page.keyboard.press("Shift+Tab");
    await chat.page.keyboard.press("Shift+Tab");
    assert.equal(await focus(), "Question");
    await chat.page.keyboard.press("Enter");
    chat.asked += 1;
    await until("a growing answer", async () => (await chat.texts(".answer")).join().includes("word20"));
    assert.equal(await chat.frame.locator("[role=status].spoken").textContent(), "Working");
    await chat.page.keyboard.press("Escape");
    await chat.see("Stopped.");
    await chat.settled();
    assert.match(await chat.frame.locator("[role=status].spoken").textContent(), /^word0 word1/);
    const nameless = await chat.frame.evaluate(() => [...document.querySelectorAll("button, textarea, summary")].filter((each) => !(each.ariaLabel || each.textContent.trim())).length);
    assert.equal(nameless, 0);
  },

  async "an answer goes on while the view is closed"(chat) {
    await chat.use("local/mock");
    await chat.ask("drip 200 50");
    await until("a growing answer", async () => (await chat.texts(".answer")).join().includes("word5"));
    await chat.closeAndOpen();
    await chat.settled();
    const sent = chat.events().findLast(({ type }) => type === "assistant/message").data.message.content[0].text;
    assert.equal(words((await chat.texts(".answer")).join()), words(sent));
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
    const outward = [];
    const note = (request) => request.url().includes("example.invalid") && outward.push(request.url());
    chat.page.on("request", note);
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
    assert.match(found.text, /press \(javascript:alert\(1\)\) away \(https:/);
    assert.match(found.text, /seen \(https:.*run \(command:.*page \(data:/);
    const buttons = await chat.frame.locator(".answer .citation").allInnerTexts();
    assert.deepEqual(buttons, ["up", "../outside.txt:1", "/etc/hostname:1", "link.txt:1", "src/missing.rs:3"]);
    assert.deepEqual(outward, []);
    chat.page.off("request", note);
  },

  async "a citation that leads outside, through a link or nowhere is refused in words"(chat) {
    await chat.have("local/mock", "hostile");
    const tab = await chat.activeTab();
    for (const [citation, words] of [["../outside.txt:1", /outside the folder/], ["/etc/hostname:1", /outside the folder/], ["link.txt:1", /outside the folder/], ["src/missing.rs:3", /is not there/]]) {
      await chat.frame.locator(".answer .citation", { hasText: citation }).first().click();
      await chat.clearToasts(words);
    }
    assert.equal(await chat.activeTab(), tab);
  },

  async "a citation may have blanks in its path, an anchor or a range"(chat) {
    await chat.use("local/mock");
    await chat.ask("places");
    await chat.settled();
    const places = [["My Notes/a b.md:3", "a b.md", "Ln 3, Col 1"], ["src/shape.rs#L10", "shape.rs", "Ln 10, Col 1"], ["area", "shape.rs", "Ln 11, Col 6 ("], ["the notes", "a b.md", "Ln 1, Col 1"]];
    for (const [text, tab, cursor] of places) {
      await chat.frame.locator(".answer .citation", { hasText: text }).first().click();
      await until(`${tab} at ${cursor}`, async () => (await chat.activeTab()).includes(tab) && (await chat.cursor()).startsWith(cursor));
    }
    await chat.openFile("shape.rs");
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

  ...AGENT_CASES,

  ...REVIEW_CASES,

  async "an earlier session is listed by its first question and goes on"(chat) {
    await chat.have("offline/retrieval", QUESTION);
    await chat.newSession();
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
    await chat.ask("drip 14000 8000");
    const input = chat.frame.locator("textarea");
    await until("a growing answer", async () => (await chat.texts(".answer")).join().includes("word2000"));
    await input.fill("typed meanwhile");
    await until("the last word", async () => (await chat.texts(".answer")).join().includes("word13998"), 40_000);
    await chat.settled();
    assert.ok((await chat.texts(".answer")).join().length > 100_000);
    assert.equal(await input.inputValue(), "typed meanwhile");
    await input.fill("");
    const isAtEnd = await chat.frame.evaluate(() => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".scroller");
      return scrollHeight - scrollTop - clientHeight < 4;
    });
    assert.ok(isAtEnd, "the end is in sight");
    await chat.frame.evaluate(() => {
      const scroller = document.querySelector(".scroller");
      const ended = new Promise((done) => scroller.addEventListener("scrollend", done, { once: true }));
      scroller.scrollTop = 500;
      return ended;
    });
    await chat.closeAndOpen();
    await until("the place where the reader was", () => chat.frame.evaluate(() => document.querySelector(".scroller").scrollTop === 500));
  },

  async "a server that keeps ending is not started for ever"(chat) {
    const crasher = join(chat.host.place, "crasher");
    writeFileSync(crasher, "#!/bin/sh\nexit 3\n");
    chmodSync(crasher, 0o755);
    chat.host.set({ "dsh-ls.server.path": crasher });
    await chat.see("keeps ending", 40_000);
    await chat.frame.locator(".banner button", { hasText: "Show log" }).waitFor();
    assert.deepEqual(await chat.isCut(), []);
    await chat.shot("crashing");
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

  async "an answer with all that Markdown has reads well in every theme"(chat) {
    await chat.use("local/mock");
    await chat.ask("showcase");
    await chat.settled();
    assert.equal(await chat.frame.locator(".answer :is(h3, strong, em, pre, blockquote, .item)").count(), 10);
    assert.deepEqual(await chat.isCut(), []);
    for (const [theme, name] of [["Dark 2026", "dark"], ["Default High Contrast", "contrast-dark"], ["Default High Contrast Light", "contrast-light"], ["Light 2026", "light"]]) {
      await chat.theme(theme);
      await chat.shot(name);
    }
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
    await chat.frame.locator(".folder", { hasText: "other" }).waitFor();
    assert.deepEqual(await chat.isCut(), []);
    await chat.shot("folders");
    // The folder of the session is closed: the next question is about the one that is left.
    writeFileSync(join(chat.host.place, "both.code-workspace"), '{"folders": [{"path": "work"}]}');
    await chat.see("Ask about work");
    assert.equal(await chat.frame.locator(".folder").isVisible(), false);
  },

  async "a folder that is not trusted is answered about, and its settings start nothing"(chat) {
    const [evil, trace] = [join(chat.host.place, "evil"), join(chat.host.place, "obeyed")];
    writeFileSync(evil, `#!/bin/sh\ntouch ${trace}\n`);
    chmodSync(evil, 0o755);
    mkdirSync(join(chat.host.place, "other/.vscode"));
    writeFileSync(join(chat.host.place, "other/.vscode/settings.json"), JSON.stringify({ "dsh-ls.server.path": evil, "dsh-ls.model": "local/evil" }));
    chat.host.set({ "security.workspace.trust.enabled": true, "security.workspace.trust.startupPrompt": "never", "dsh-ls.model": "offline/retrieval" });
    await chat.open(`?folder=${chat.host.place}/other`);
    await chat.page.getByText("Restricted Mode").first().waitFor();
    await chat.frame.locator(".model", { hasText: "offline/retrieval" }).waitFor();
    chat.asked = 0;
    await chat.ask("where is Lonely defined?");
    await chat.settled();
    assert.match((await chat.texts(".answer")).join(), /only\.rs:1/);
    assert.equal(existsSync(trace), false);
    chat.host.set({});
  },

  async "without a folder the chat says what to do"(chat) {
    await chat.open("?ew=true");
    await chat.see("No folder is open");
    await chat.frame.locator("button", { hasText: "Open folder" }).waitFor();
    assert.equal(await chat.frame.locator("textarea").isDisabled(), true);
  },
};

function words(text) {
  return text.match(/word\d+/g).join(" ");
}
