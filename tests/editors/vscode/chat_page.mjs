/** What a person does and sees in the editor, in words. */
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { processesWith, until } from "./host.mjs";
import { root } from "./install.mjs";

/** A question that every model of the tests has an answer to. */
export const QUESTION = "where is Circle defined?";

/** The events of a line of a log, which may be a packed run of deltas. */
function unpacked(line) {
  const kinds = { "text-chunks": ["text-delta", "texts", "text"], "reasoning-chunks": ["reasoning-delta", "texts", "text"], "tool-call-chunks": ["tool-call-delta", "args", "argumentsDelta"] };
  if (!kinds[line.type]) return [line];
  const [type, list, key] = kinds[line.type];
  const { turn, step, index, dt } = line.data;
  let time = line.time0;
  return line.data[list].map((said, at) => {
    if (at > 0) time += dt[at - 1];
    return { type: "assistant/chunk", seq: line.seq0 + at, time, data: { turn, step, chunk: { type, index, [key]: said } } };
  });
}

export class ChatPage {
  constructor(host, parts, dshLs) {
    Object.assign(this, { host, parts, dshLs, page: host.page, context: host.page.context(), asked: 0 });
  }

  /** Opens the editor and, in it, the chat, which takes the focus when it is there. */
  async open(path = "") {
    await this.page.goto(this.host.url + path);
    await this.page.waitForSelector(".monaco-workbench .activitybar", { timeout: 60_000 });
    await this.command("dsh-ls: Open the Chat");
    await this.find();
    await until("the cursor in the chat, if one can type there", async () => (await this.isFocused()) || this.frame.locator("textarea").isDisabled());
  }

  /** Finds the chat's frame, which is another one after each reload. */
  async find() {
    this.frame = await until("the chat", async () => {
      for (const frame of this.page.frames()) {
        const composer = await frame.$(".composer textarea").catch(() => null);
        if (await composer?.isVisible().catch(() => false)) return frame;
      }
    }, 40_000);
  }

  /** Closes the view, which takes its page away, and opens it again. */
  async closeAndOpen() {
    await this.page.keyboard.press("Control+b");
    await until("no chat", async () => this.frame.isDetached() || (await this.frame.locator(".composer").count().catch(() => 0)) === 0);
    await this.page.keyboard.press("Control+b");
    await this.find();
  }

  /** Runs a command as a person does. What takes the focus away closes the list: then once more. */
  async command(title) {
    await this.pick(`>${title}`, title);
  }

  /** Opens a file of the folder by its name. */
  async openFile(name) {
    await this.pick(name, name);
    await this.page.locator(".tabs-container .tab.active", { hasText: name }).waitFor();
  }

  async pick(typed, wanted) {
    const input = this.page.locator(".quick-input-widget input[type=text]");
    const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: wanted }).first();
    const soon = { timeout: 2_000 };
    await until(`${wanted} in the list`, async () => {
      await this.page.keyboard.press("F1");
      try {
        await input.fill(typed, soon);
        await row.click(soon);
        return true;
      } catch {
        await this.page.keyboard.press("Escape");
        return false;
      }
    }, 60_000);
  }

  async ask(text) {
    this.asked += 1;
    const input = this.frame.locator("textarea");
    // A list that closes gives the focus back to whatever had it before, even to what is being typed into.
    await until("the question where it is typed", async () => {
      await input.fill(text);
      return (await input.inputValue()) === text;
    });
    await until("the question on its way", async () => {
      await input.press("Enter");
      return (await input.inputValue()) === "";
    });
  }

  /** Deliberates about the last answer, by the command or another way to it. The box for the question comes with the last one in it. */
  async deliberate(goal, begin = () => this.command("dsh-ls: Deliberate")) {
    const rounds = await this.frame.locator(".deliberation").count();
    await begin();
    // The list of commands is the same element, and may still be there with what was typed into it.
    const input = this.page.locator(".quick-input-widget", { hasText: "The question to decide" }).locator("input[type=text]");
    await input.fill(goal);
    await input.press("Enter");
    await this.frame.locator(".deliberation").nth(rounds).waitFor();
  }

  /** Has a session with a model in which `question` is answered: the one that is shown, else a new one. */
  async have(model, question) {
    const isModel = (await this.frame.locator(".model", { hasText: model }).count()) > 0;
    const isIdle = (await this.frame.locator(".composer .stop").count()) === 0 && (await this.frame.locator("textarea").isVisible());
    if (isModel && isIdle && (await this.texts(".question")).includes(question)) return;
    await this.use(model);
    await this.ask(question);
    await this.settled();
  }

  /** A branch of the last round. */
  branch(label) {
    return this.frame.locator(".deliberation").last().locator(`.branch[aria-label="${label}"]`);
  }

  /** Waits until the last round came out. */
  async cameOut() {
    const round = this.frame.locator(".deliberation").last();
    await until("the end of the round", async () => (await round.locator(".branch:not(.settled)").count()) === 0 && (await round.locator("button[aria-label^=Stop]:visible").count()) === 0);
  }

  /** Waits until every question of the session is answered. */
  async settled(within) {
    const count = (selector) => this.frame.locator(selector).count();
    await until(
      "the end of the turn",
      async () => (await count(".question")) === this.asked && (await count(".turn-end, .note.end")) === this.asked && (await count(".composer .stop")) === 0,
      within,
    );
  }

  /** After a case that failed: what it left open is closed, so that the next one begins as if it had passed. */
  async recover() {
    this.model.release();
    this.host.set({});
    await this.page.goto("about:blank");
    await this.open();
    await this.newSession();
  }

  /** Takes the notifications away that match. */
  async clearToasts(text = /./) {
    const toast = this.page.locator(".notification-toast", { hasText: text }).first();
    await toast.waitFor();
    await toast.hover();
    await toast.locator(".codicon-notifications-clear").click();
    await toast.waitFor({ state: "detached" });
  }

  /** Leaves the session, if there is one. */
  async newSession() {
    await this.command("dsh-ls: New Session");
    await this.frame.locator(".empty").waitFor();
    await this.focused();
    this.asked = 0;
  }

  /** Waits until a person can type a question. */
  async focused() {
    await until("the cursor in the chat", () => this.isFocused());
  }

  isFocused() {
    return this.frame.evaluate(() => document.hasFocus() && document.activeElement?.tagName === "TEXTAREA");
  }

  /** Begins a session with a model that is chosen by its name. */
  async use(model) {
    await this.newSession();
    await this.command("dsh-ls: Choose the Model");
    await this.nameModel(model);
  }

  /** In the open picker of models: types a model's name. */
  async nameModel(model) {
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: "Another model" }).click();
    const input = this.page.locator(".quick-input-widget input[type=text]");
    await until("the box for a name", async () => (await input.getAttribute("placeholder")) === "local/NAME");
    await input.fill(model);
    await this.page.keyboard.press("Enter");
    await this.frame.locator(".model", { hasText: model }).waitFor();
  }

  /** The text of everything that matches. */
  async texts(selector) {
    return this.frame.locator(selector).allInnerTexts();
  }

  /** The rows as one text, with what is open in them left out. */
  async rows() {
    return JSON.stringify((await this.texts(".transcript > *")).map((row) => row.split("\n").slice(0, 3)));
  }

  async see(text, within = 20_000) {
    await this.frame.getByText(text).first().waitFor({ timeout: within });
  }

  /** Where the cursor of the editor is, by its status bar. */
  async cursor() {
    return (await this.page.locator("#status\\.editor\\.selection").textContent({ timeout: 500 }).catch(() => "")) ?? "";
  }

  async activeTab() {
    return (await this.page.locator(".tabs-container .tab.active").first().textContent({ timeout: 500 }).catch(() => "")) ?? "";
  }

  /** In the editor: dismisses what is found in the line that has `text`, from the list of what can be done there. */
  async dismissAt(text) {
    const action = this.page.locator(".action-widget .monaco-list-row", { hasText: "Dismiss" }).first();
    await until("the list of what can be done", async () => {
      await this.page.locator(".editor-instance .monaco-editor .view-line", { hasText: text }).click();
      await this.page.keyboard.press("Control+.");
      return action.click({ timeout: 2_000 }).then(() => true, () => false);
    });
  }

  /** The servers of this editor. */
  servers() {
    const ours = processesWith(`${this.host.place}/home`);
    return ours.filter(({ command }) => command.startsWith(`${this.dshLs} lsp`)).map(({ pid }) => String(pid));
  }

  kill() {
    for (const pid of this.servers()) execFileSync("kill", ["-9", pid]);
  }

  /** The logs of sessions, the newest last. */
  logs() {
    const folder = `${this.host.place}/home/sessions`;
    const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".jsonl"));
    return files.sort((a, b) => (basename(a) < basename(b) ? -1 : 1)).map((name) => join(folder, name));
  }

  /** The events of the newest session, from its log. */
  events() {
    const lines = readFileSync(this.logs().at(-1), "utf8").trim().split("\n").slice(1);
    return lines.map((line) => JSON.parse(line)).flatMap(unpacked);
  }

  /** Whether everything is inside the width of the view. Code scrolls by itself. */
  async isCut() {
    return this.frame.evaluate(() => {
      const wide = [document.scrollingElement, document.querySelector(".scroller")].filter((each) => each.scrollWidth > each.clientWidth);
      const out = [...document.querySelectorAll("button, .question, .answer, .tool, .note, .card, .branch, .finding, .evidence, .quiet-line, .markdown > *")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1);
      return [...wide, ...out].map((each) => `${each.tagName}.${each.className} ${each.textContent.slice(0, 40)}`);
    });
  }

  /** Chooses a theme by its name. */
  async theme(name) {
    await this.command("Preferences: Color Theme");
    const input = this.page.locator(".quick-input-widget input[type=text]");
    await until("the box for a theme", async () => /theme/i.test((await input.getAttribute("placeholder")) ?? ""));
    await input.fill(name);
    await this.page.keyboard.press("Enter");
    await until(`the theme ${name}`, () => this.frame.evaluate((id) => document.body.dataset.vscodeThemeId === id, name));
  }

  /** A picture in a light theme and one in a dark one. */
  async shots(name) {
    if (!this.pictures) return;
    for (const [theme, suffix] of [["Dark 2026", "-dark"], ["Light 2026", ""]]) {
      await this.theme(theme);
      await this.shot(name + suffix);
    }
  }

  async shot(name) {
    if (!this.pictures) return;
    await this.page.mouse.move(200, 18);
    await until("no hint of a button", async () => (await this.page.locator(".monaco-hover:visible").count()) === 0);
    const path = join(this.pictures, `vscode-${name}.png`);
    await this.page.screenshot({ path, animations: "disabled" });
    // The extension's own page shows what stands in its package only.
    if (name === "answer") cpSync(path, join(root, "editors/vscode/media/answer.png"));
  }
}
