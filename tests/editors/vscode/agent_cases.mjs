/** Rounds of deliberation, subagents and checked citations, as a person sees them. */
import assert from "node:assert/strict";
import { QUESTION } from "./chat_page.mjs";
import { until } from "./host.mjs";

export const AGENT_CASES = {
  async "an answer whose citations hold has a quiet mark, and one without citations has none"(chat) {
    await chat.use("offline/retrieval");
    await chat.ask(QUESTION);
    await chat.settled();
    assert.match((await chat.texts(".evidence")).join(), /^\d+ citations hold$/);
    assert.equal(await chat.frame.locator(".evidence.bad").count(), 0);
    await chat.use("local/mock");
    await chat.ask("who are you?");
    await chat.settled();
    assert.equal(await chat.frame.locator(".evidence").count(), 0);
  },

  async "a citation that does not hold is told, with the place where the line is now"(chat) {
    await chat.use("local/mock");
    await chat.ask("wrong places");
    await chat.settled();
    assert.match((await chat.texts(".evidence-head")).join(), /^3 of \d citations do not hold$/);
    const told = (await chat.texts(".failure")).join("\n");
    assert.match(told, /src\/shape\.rs:99\s+the file has no such line/);
    assert.match(told, /src\/gone\.rs:2\s+there is no such file/);
    assert.match(told, /src\/shape\.rs:1\s+pub fn area\(&self\) -> f64 \{\s+stands at\s+src\/shape\.rs:9\s+now/);
    await chat.frame.locator(".failure .citation", { hasText: "src/shape.rs:9" }).click();
    await until("line 9", async () => (await chat.cursor()).includes("Ln 9,") && (await chat.activeTab()).includes("shape.rs"));
    assert.deepEqual(await chat.isCut(), []);
    await chat.shots("evidence");
  },

  async "a citation that does not hold is dismissed where the line is now, and so it is in the chat"(chat) {
    await chat.have("local/mock", "wrong places");
    const failure = chat.frame.locator(".failure", { hasText: "stands at" });
    await failure.locator(".citation", { hasText: "src/shape.rs:9" }).click();
    await until("line 9", async () => (await chat.cursor()).includes("Ln 9,") && (await chat.activeTab()).includes("shape.rs"));
    await chat.dismissAt("pub fn area");
    await failure.locator(".state", { hasText: "dismissed" }).waitFor();
    assert.equal(await chat.frame.locator(".failure .state").count(), 1);
  },

  async "a round shows its branches while they run, each can be read and stopped, and shows what they found"(chat) {
    await chat.use("local/mock");
    await chat.ask("who are you?");
    await chat.settled();
    await chat.deliberate("Is 3.14 precise enough, slowly?", () => chat.frame.locator("button[aria-label^=Deliberate]").click());
    await chat.branch("alternative").locator(".outcome", { hasText: "2 findings" }).or(chat.branch("alternative").locator(".outcome", { hasText: "came out" })).waitFor();
    await chat.branch("audit").locator(".doing", { hasText: "Search" }).waitFor();
    await until("both to wait", () => chat.model.waiting() === 2);
    assert.match(await chat.branch("audit").locator(".outcome").innerText(), /^(9:\d\d|10:00) left$/);
    assert.match(await chat.branch("review").locator(".branch-kind").innerText(), /masked review · mid-fork/);
    const left = () => chat.branch("audit").locator(".time-left .left").getAttribute("width");
    const before = Number(await left());
    await until("less time", async () => Number(await left()) < before);
    assert.equal(await chat.frame.locator(".round-head .outcome").innerText(), "1 of 3 came out");
    assert.equal(await chat.frame.locator(".round-goal").innerText(), "Is 3.14 precise enough, slowly?");
    assert.deepEqual(await chat.isCut(), []);
    await chat.shots("round-running");
    // A view that was closed meanwhile knows what runs.
    await chat.closeAndOpen();
    assert.match(await chat.branch("audit").locator(".outcome").innerText(), /^(9:\d\d|10:00) left$/);
    await chat.branch("review").locator("button[aria-label='Stop review']").click();
    await chat.branch("review").locator(".outcome", { hasText: "stopped" }).waitFor();
    chat.model.release();
    await chat.cameOut();
    assert.match(await chat.branch("audit").innerText(), /1 finding[^]*possible error\s+certain[^]*0\.05 % off[^]*src\/main\.rs:7[^]*One place that it named does not hold/);
    assert.equal(await chat.branch("review").locator(".diagnostic, .finding").count(), 0);
    assert.equal(await chat.frame.locator(".round-head .outcome").innerText(), "");
    await chat.branch("audit").locator(".ref .citation", { hasText: "src/main.rs:7" }).click();
    await until("line 7", async () => (await chat.cursor()).includes("Ln 7,") && (await chat.activeTab()).includes("main.rs"));
    assert.deepEqual(await chat.isCut(), []);
    await chat.frame.locator(".deliberation").evaluate((round) => round.scrollIntoView());
    await chat.shots("round-settled");
  },

  async "a child's session is read in place of its parent's, with a way back, also after the window was loaded again"(chat) {
    if ((await chat.frame.locator(".deliberation").count()) !== 1) await aRound(chat);
    const before = await chat.rows();
    const top = (to) => chat.frame.evaluate((wanted) => {
      const scroller = document.querySelector(".scroller");
      if (wanted !== undefined) scroller.scrollTop = wanted;
      return scroller.scrollTop;
    }, to);
    await top(40);
    await chat.branch("audit").locator(".child-link").click();
    await chat.frame.locator(".child-bar", { hasText: "audit" }).waitFor();
    await chat.frame.locator(".question", { hasText: "trajectory-audit" }).waitFor();
    await chat.frame.locator(".tool", { hasText: "Search" }).waitFor();
    assert.equal(await chat.frame.locator("textarea").isVisible(), false);
    assert.deepEqual(await chat.isCut(), []);
    await chat.shot("child");
    await chat.frame.locator(".child-bar button", { hasText: "Back" }).click();
    await chat.frame.locator(".child-bar").waitFor({ state: "hidden" });
    await until("the same rows", async () => (await chat.rows()) === before);
    await until("the place where the reader was", async () => (await top()) < 80);
    assert.equal(await chat.frame.locator("textarea").isVisible(), true);
    await chat.branch("audit").locator(".child-link").click();
    await chat.frame.locator(".child-bar", { hasText: "audit" }).waitFor();
    await chat.open();
    // From the log alone the round is what it was.
    await until("the same rows", async () => (await chat.rows()) === before);
    assert.match(before, /slowly\?/);
  },

  async "a round as a whole is stopped"(chat) {
    await chat.have("local/mock", "who are you?");
    await chat.deliberate("And now, slowly?");
    await until("both to wait", () => chat.model.waiting() === 2);
    await chat.frame.locator(".deliberation").last().locator("button[aria-label='Stop the round']").click();
    await chat.cameOut();
    assert.deepEqual((await chat.branch("audit").locator(".outcome").innerText()), "stopped");
    chat.model.release();
  },

  async "a round whose server was killed was interrupted, without anybody asking"(chat) {
    await chat.have("local/mock", "who are you?");
    await chat.deliberate("And then, slowly?");
    await until("both to wait", () => chat.model.waiting() === 2);
    chat.kill();
    await chat.branch("audit").locator(".outcome", { hasText: "interrupted" }).waitFor();
    await chat.branch("review").locator(".outcome", { hasText: "interrupted" }).waitFor();
    assert.match(await chat.branch("audit").innerText(), /The server stopped/);
    assert.equal(await chat.frame.locator(".deliberation").last().locator(".round-head .outcome").innerText(), "");
    assert.equal(await chat.frame.locator(".deliberation button[aria-label^=Stop]:visible").count(), 0);
    chat.model.release();
    await chat.clearToasts();
  },

  async "a round that the model asked for stands under its call, and the answer goes on after it"(chat) {
    await chat.use("local/mock");
    await chat.ask("ask for a round");
    await chat.settled();
    await chat.frame.locator(".tool", { hasText: /Deliberate.*Is 3\.14 precise enough/ }).waitFor();
    assert.deepEqual(await chat.texts(".branch-name"), ["other way", "audit", "review"]);
    assert.match(await chat.branch("other way").innerText(), /2 findings[^]*suggestion\s+likely[^]*consts::PI/);
    assert.match(await chat.branch("review").innerText(), /no completed step[^]*No complete step of the primary was there to review\./);
    assert.match((await chat.texts(".answer")).at(-1), /I heard/);
  },

  async "a row of a subagent shows what was asked and answered, and opens its session"(chat) {
    await chat.use("local/mock");
    await chat.ask("ask a subagent");
    await until("the subagent to wait", () => chat.model.waiting() === 1);
    const row = chat.frame.locator(".tool", { hasText: "count the circles" });
    // It can be looked at while it works.
    await row.locator(".child-link").click();
    await chat.frame.locator(".child-bar", { hasText: "count the circles" }).waitFor();
    await chat.frame.locator(".question", { hasText: "How many circles" }).waitFor();
    assert.equal(await chat.frame.locator(".answer").count(), 0);
    chat.model.release();
    await chat.frame.locator(".answer", { hasText: "I heard: How many circles" }).waitFor();
    await chat.frame.locator(".child-bar button", { hasText: "Back" }).click();
    await chat.settled();
    await row.locator("summary .subject").click();
    assert.match(await row.locator(".asked").innerText(), /How many circles are there\? Look into src\/main\.rs:6/);
    assert.match(await row.locator(".tool-body").innerText(), /I heard: How many circles/);
    await chat.shot("subagent");
    await row.locator(".child-link").click();
    await chat.frame.locator(".child-bar", { hasText: "count the circles" }).waitFor();
    await chat.frame.locator(".answer", { hasText: "I heard: How many circles" }).waitFor();
    await chat.page.keyboard.press("Escape");
    await chat.frame.locator(".child-bar").waitFor({ state: "hidden" });
  },

  async "of two subagents of one name each row opens its own while both work"(chat) {
    await chat.use("local/mock");
    await chat.ask("ask two subagents");
    await until("both to wait", () => chat.model.waiting() === 2);
    const rows = chat.frame.locator(".tool", { hasText: "count the circles" });
    for (const [at, task] of ["How many circles are there?", "And in the notes?"].entries()) {
      await rows.nth(at).locator(".child-link").click();
      await chat.frame.locator(".question", { hasText: task }).waitFor();
      await chat.frame.locator(".child-bar button", { hasText: "Back" }).click();
      await chat.frame.locator(".child-bar").waitFor({ state: "hidden" });
    }
    chat.model.release();
    await chat.settled();
  },

  async "a line that begins with a slash runs a command; one that is not known is told, with those that are"(chat) {
    await chat.use("local/mock");
    const input = chat.frame.locator("textarea");
    const type = async (line) => {
      await input.fill(line);
      await input.press("Enter");
    };
    await type("/deliberate Is it?");
    await chat.see(/no session yet/);
    assert.equal(await input.inputValue(), "/deliberate Is it?");
    await chat.ask("who are you?");
    await chat.settled();
    await type("/vote now");
    await chat.see(/There is no command \/vote\. There are: \/deliberate GOAL/);
    assert.equal(await input.inputValue(), "/vote now");
    await type("/deliberate");
    await chat.frame.locator(".note.command.bad", { hasText: "say what to decide" }).waitFor();
    assert.equal(await chat.frame.getByText(/There is no command/).isVisible(), false);
    await type("/deliberate Is 3.14 enough, slowly?");
    await until("both to wait", () => chat.model.waiting() === 2);
    const row = () => chat.frame.locator(".note.command").last();
    assert.match(await row().innerText(), /^\/deliberate Is 3\.14 enough, slowly\?\s+…$/);
    await chat.closeAndOpen();
    assert.match(await row().innerText(), /…$/);
    chat.model.release();
    await chat.cameOut();
    await until("what it says", async () => /audit \(trajectory-audit\):[^]*0\.05 % off/.test(await row().innerText()));
    assert.equal(await chat.frame.locator(".note.command.bad").count(), 1);
    assert.deepEqual(await chat.texts(".question"), ["who are you?"]);
    assert.deepEqual(await chat.isCut(), []);
    await row().evaluate((note) => note.scrollIntoView());
    await chat.shot("command");
  },

  async "a round works offline"(chat) {
    await chat.use("offline/retrieval");
    await chat.command("dsh-ls: Deliberate");
    await chat.clearToasts("no answer yet");
    await chat.ask(QUESTION);
    await chat.settled();
    await chat.deliberate("Is Circle the right name?");
    await chat.cameOut();
    assert.deepEqual(await chat.texts(".branch-name"), ["alternative", "audit", "review"]);
    assert.equal(await chat.frame.locator(".branch .child-link").count(), 3);
  },
};

/** A session with a round that came out, of which somebody stopped a branch. */
async function aRound(chat) {
  await chat.have("local/mock", "who are you?");
  await chat.deliberate("Is 3.14 precise enough, slowly?");
  await until("both to wait", () => chat.model.waiting() === 2);
  await chat.branch("review").locator("button[aria-label='Stop review']").click();
  await chat.branch("review").locator(".outcome", { hasText: "stopped" }).waitFor();
  chat.model.release();
  await chat.cameOut();
}
