/** What a person does and sees in the editor, in words. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { until } from "./host.mjs";

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
    const row = this.page.locator(".quick-input-list .monaco-list-row").first();
    const soon = { timeout: 2_000 };
    await until(`${wanted} in the list`, async () => {
      await this.page.keyboard.press("F1");
      try {
        await input.fill(typed, soon);
        if (!(await row.textContent(soon)).includes(wanted) || !(await input.isVisible())) throw new Error("another one comes first");
        await this.page.keyboard.press("Enter");
        return true;
      } catch {
        await this.page.keyboard.press("Escape");
        return false;
      }
    }, 60_000);
  }

  async ask(text) {
    this.asked += 1;
    await this.frame.locator("textarea").fill(text);
    await this.frame.locator("textarea").press("Enter");
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
    if (await this.frame.locator(".empty").isHidden()) await this.page.locator(".pane-header, .composite.title").locator('a[aria-label*="New Session"]').first().click();
    await this.frame.locator(".empty").waitFor();
    this.asked = 0;
  }

  /** Chooses a model by its name and begins a session with it. */
  async use(model) {
    await this.command("dsh-ls: Choose the Model");
    await this.nameModel(model);
    await this.newSession();
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

  /** The servers of this editor: others may run on this machine. */
  servers() {
    return readdirSync("/proc").filter((pid) => {
      if (!/^\d+$/.test(pid)) return false;
      try {
        const isServer = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, 2).join(" ") === `${this.dshLs} lsp`;
        return isServer && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`DSH_LS_HOME=${this.host.place}`);
      } catch {
        return false;
      }
    });
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
    return lines.map((line) => JSON.parse(line));
  }

  async shot(name) {
    if (this.shots) await this.page.screenshot({ path: join(this.shots, `vscode-${name}.png`) });
  }
}
