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

  /** Opens the editor and, in it, the chat. */
  async open(path = "") {
    await this.page.goto(this.host.url + path);
    await this.page.waitForSelector(".monaco-workbench .activitybar", { timeout: 60_000 });
    await this.command("dsh-ls: Open the Chat");
    await this.find();
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

  /** Deliberates about the last answer: the box for the question comes with the last one in it. */
  async deliberate(goal) {
    const rounds = await this.frame.locator(".deliberation").count();
    const input = this.page.locator(".quick-input-widget input[type=text]");
    await until("the box for what is to be decided", async () => /\S/.test(await input.inputValue({ timeout: 500 }).catch(() => "")));
    await input.fill(goal);
    await this.page.keyboard.press("Enter");
    await this.frame.locator(".deliberation").nth(rounds).waitFor();
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

  /** Leaves the session, if there is one. */
  async newSession() {
    await this.command("dsh-ls: New Session");
    await this.frame.locator(".empty").waitFor();
    await this.focused();
    this.asked = 0;
  }

  /** Waits until a person can type a question. */
  async focused() {
    await until("the cursor in the chat", () => this.frame.evaluate(() => document.hasFocus() && document.activeElement?.tagName === "TEXTAREA"));
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
      const out = [...document.querySelectorAll("button, .question, .answer, .tool, .note, .deliberation, .branch, .finding, .evidence, .markdown > *")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1);
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
    await this.page.mouse.move(700, 500);
    await until("no hint of a button", async () => (await this.page.locator(".monaco-hover:visible").count()) === 0);
    const path = join(this.pictures, `vscode-${name}.png`);
    await this.page.screenshot({ path, animations: "disabled" });
    // The extension's own page shows what stands in its package only.
    if (name === "answer") cpSync(path, join(root, "editors/vscode/media/answer.png"));
  }
}
