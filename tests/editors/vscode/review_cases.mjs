/** Reviews of answers, as a person sees them in the chat and in the editor's list of problems. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./host.mjs";

const ERROR = "every area is 0.05 % too small";
const SUGGESTION = "prints all digits";

export const REVIEW_CASES = {
  async "a finding of a review stands in the chat and among the problems, leads to its line and goes when it is dismissed or accepted"(chat) {
    await chat.use("local/mock");
    await chat.ask("is Circle right, slowly?");
    await chat.settled();
    await chat.frame.locator("button[aria-label='Review the last answer']").click();
    await chat.frame.locator(".review.running").waitFor();
    await chat.see("Draft: it is being reviewed");
    await until("the reviewer to wait", () => chat.model.waiting() === 1);
    await until("its time", async () => /^0:(0[1-9]|[1-5]\d)$/.test(await chat.frame.locator(".review .outcome").innerText()));
    assert.deepEqual(await chat.isCut(), []);
    await chat.shots("review-running");
    await chat.closeAndOpen();
    assert.match(await chat.frame.locator(".review.running .outcome").innerText(), /^0:\d\d$/);
    chat.model.release();
    await found(chat);
    assert.equal(await chat.frame.locator(".draft-mark").count(), 0);
    await problems(chat, "`Circle`", [ERROR, SUGGESTION]);
    await chat.frame.locator(".review .ref .citation", { hasText: "src/shape.rs:10" }).click();
    await until("line 10", async () => (await chat.cursor()).includes("Ln 10,") && (await chat.activeTab()).includes("shape.rs"));
    assert.match(await finding(chat, ERROR).innerText(), /^possible error\s+certain/);
    assert.deepEqual(await chat.isCut(), []);
    await chat.shots("review");
    await finding(chat, ERROR).locator("button", { hasText: "Dismiss" }).click();
    await problems(chat, "`Circle`", [SUGGESTION]);
    assert.match(await finding(chat, ERROR).innerText(), /dismissed/);
    assert.equal(await chat.frame.locator(".review .outcome").innerText(), "1 of 2 open");
    await finding(chat, SUGGESTION).locator("button", { hasText: "Accept" }).click();
    await problems(chat, "`Circle`", []);
    assert.equal(await chat.frame.locator(".review .outcome").innerText(), "0 of 2 open");
    assert.deepEqual(await chat.isCut(), []);
    await chat.shot("review-answered");
    const before = await chat.rows();
    await chat.open();
    // From the log alone the review is what it was.
    await until("the same rows", async () => (await chat.rows()) === before);
  },

  async "a finding that is dismissed where it stands in its file is dismissed in the chat"(chat) {
    await chat.use("local/mock");
    await chat.ask("is Shape right?");
    await chat.settled();
    await chat.command("dsh-ls: Review the Last Answer");
    await found(chat);
    await problems(chat, "`Shape`", [ERROR, SUGGESTION]);
    await chat.frame.locator(".review .ref .citation", { hasText: "src/main.rs:7" }).click();
    await until("line 7", async () => (await chat.cursor()).includes("Ln 7,") && (await chat.activeTab()).includes("main.rs"));
    await chat.dismissAt("println!");
    await problems(chat, "`Shape`", [ERROR]);
    await until("the same in the chat", async () => /dismissed/.test(await finding(chat, SUGGESTION).innerText()));
    await finding(chat, SUGGESTION).locator("button", { hasText: "Reopen" }).click();
    await finding(chat, SUGGESTION).locator("button", { hasText: "Accept" }).waitFor();
    await problems(chat, "`Shape`", [ERROR, SUGGESTION]);
    // What stands open is there again with another server.
    const [killed] = chat.servers();
    chat.kill();
    await until("another server", () => chat.servers().some((pid) => pid !== killed));
    await problems(chat, "`Shape`", [ERROR, SUGGESTION]);
    await finding(chat, ERROR).locator("button", { hasText: "Accept" }).click();
    await problems(chat, "`Shape`", [SUGGESTION]);
  },

  async "a review that finds nothing, fails or is stopped is one quiet line"(chat) {
    await chat.use("local/mock");
    for (const [question, told] of [["is it flawless?", "Reviewed: nothing that matters was found."], ["is it forgotten?", /^Not reviewed: /], ["is it done slowly?", "The review was stopped."]]) {
      await chat.use("local/mock");
      await chat.ask(question);
      await chat.settled();
      await chat.command("dsh-ls: Review the Last Answer");
      if (question.includes("slowly")) {
        await until("the reviewer to wait", () => chat.model.waiting() === 1);
        await chat.frame.locator("button[aria-label='Stop the review']").click();
      }
      await chat.frame.locator(".quiet-line .note-text", { hasText: told }).waitFor();
      assert.equal(await chat.frame.locator(".card, .draft-mark").count(), 0);
    }
    await chat.frame.locator(".quiet-line .child-link").click();
    await chat.frame.locator(".child-bar", { hasText: "masked review" }).waitFor();
    await chat.frame.locator(".child-bar button", { hasText: "Back" }).click();
    await chat.frame.locator(".child-bar").waitFor({ state: "hidden" });
  },

  async "automatic reviews are switched in the chat, in the list of commands and elsewhere, and the next turn obeys"(chat) {
    await chat.use("local/mock");
    const toggle = chat.frame.locator("button.auto-review");
    const isOn = (wanted) => until(`automatic reviews ${wanted ? "on" : "off"}`, async () => (await toggle.getAttribute("aria-pressed")) === String(wanted));
    const patch = join(chat.host.place, "home/cordis.patch.yml");
    const written = () => (existsSync(patch) ? readFileSync(patch, "utf8") : "");
    await isOn(false);
    await toggle.click();
    await isOn(true);
    assert.match(written(), /id: tool-deliberation[^]*enabled: true/);
    await chat.ask("look into it, slowly");
    await until("the reviewer to wait", () => chat.model.waiting() === 1);
    await chat.see("Draft: it is being reviewed");
    await chat.frame.locator(".review.running").waitFor();
    assert.deepEqual(await chat.isCut(), []);
    await chat.shots("review-auto");
    chat.model.release();
    await chat.see("Now I see");
    await chat.settled();
    await found(chat);
    assert.equal(await chat.frame.locator(".draft-mark").count(), 0);
    assert.match((await chat.texts(".tool.notice")).join(), /^Told the agent\s+masked review checkpoint · update · 2 items$/);
    assert.deepEqual(await chat.texts(".question"), ["look into it, slowly"]);
    assert.deepEqual(await chat.isCut(), []);
    await chat.shots("review-auto-settled");
    const elsewhere = (value) => execFileSync(chat.dshLs, ["config", "set", "tool-deliberation.autoReview.enabled", value, "--home", join(chat.host.place, "home")]);
    elsewhere("false");
    await isOn(false);
    await chat.ask("look into it once more");
    await chat.settled();
    assert.equal(await chat.frame.locator(".review").count(), 1);
    await chat.command("dsh-ls: Turn Automatic Reviews On or Off");
    await isOn(true);
    await chat.page.locator(".statusbar", { hasText: "automatic reviews are on" }).waitFor();
    await chat.ask("look into it and be flawless");
    await chat.settled();
    await chat.see("Reviewed: nothing that matters was found.");
    await toggle.click();
    await isOn(false);
    assert.match(written(), /enabled: false/);
    const panel = chat.page.locator(".markers-panel");
    if (await panel.isVisible()) await chat.command("View: Hide Panel");
    await panel.waitFor({ state: "hidden" });
  },
};

/** Waits until the last review has found what it finds. */
async function found(chat) {
  await chat.frame.locator(".review .outcome", { hasText: "2 findings" }).waitFor();
}

function finding(chat, text) {
  return chat.frame.locator(".review").last().locator(".finding", { hasText: text });
}

/** Waits until of what reviewers found about `name`, the editor's list of problems holds these and no others. */
async function problems(chat, name, wanted) {
  const panel = chat.page.locator(".markers-panel");
  if (!(await panel.isVisible())) await chat.command("Problems: Focus on Problems View");
  const rows = panel.locator(".monaco-list-row .marker-message-line");
  const told = async () => (await rows.allInnerTexts()).filter((text) => text.includes(name));
  await until(`the problems ${wanted.join(", ")}`, async () => {
    const texts = await told();
    return texts.length === wanted.length && wanted.every((text) => texts.some((each) => each.includes(text)));
  }).catch(async (error) => {
    throw new Error(`${error.message}; there are: ${(await told()).join(" | ")}`);
  });
}
