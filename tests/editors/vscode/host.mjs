/** The real host: a code-server with the extension installed, and a browser that looks at it. */
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";

const SETTINGS = {
  "chat.disableAIFeatures": true,
  "extensions.autoUpdate": false,
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "workbench.startupEditor": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.tips.enabled": false,
};
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** The folder that is asked about, and what lies beside it and is not part of it. */
export const FILES = {
  "work/src/shape.rs": "//! Shapes.\n\n/// A round one.\npub struct Circle {\n    pub radius: f64,\n}\n\nimpl Circle {\n    pub fn area(&self) -> f64 {\n        3.14 * self.radius * self.radius\n    }\n}\n",
  "work/src/retry.rs": "//! Sends a failed request again.\n\n/// The pause before the next attempt.\npub fn next_pause(attempt: u32) -> Option<Duration> {\n    (attempt < 3).then(|| Duration::from_millis(250 << attempt))\n}\n",
  "work/src/policy.rs": "pub enum Verdict {\n    Again,\n    GiveUp,\n}\n",
  "work/src/main.rs": "mod policy;\nmod retry;\nmod shape;\n\nfn main() {\n    let circle = shape::Circle { radius: 2.0 };\n    println!(\"{}\", circle.area());\n}\n",
  "work/My Notes/a b.md": "# Notes\n\nAreas are never negative.\n",
  "work/README.md": "# Shapes\n\nComputes areas.\n",
  "outside.txt": "not in the folder\n",
  "other/only.rs": "pub struct Lonely;\n",
  "both.code-workspace": '{"folders": [{"path": "work"}, {"path": "other"}]}',
};

/** Starts both. Everything that is written stays in one temporary folder. */
export async function startHost({ parts, dshLs, modelUrl, settings = {} }) {
  const place = mkdtempSync(join(tmpdir(), "dsh-ls-vscode-"));
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(place, name)), { recursive: true });
    writeFileSync(join(place, name), text);
  }
  symlinkSync(join(place, "outside.txt"), join(place, "work/link.txt"));
  cpSync(parts.extensions, join(place, "extensions"), { recursive: true });
  const set = (changed) => {
    const wanted = { ...SETTINGS, "dsh-ls.server.path": dshLs, ...settings, ...changed };
    writeSettings(join(place, "data/Machine/settings.json"), { "dsh-ls.server.path": wanted["dsh-ls.server.path"] });
    delete wanted["dsh-ls.server.path"];
    writeSettings(join(place, "data/User/settings.json"), wanted);
  };
  set({});
  const mark = { DSH_LS_HOME: join(place, "home") };
  const port = await freePort();
  const log = [];
  const server = spawn(
    parts.node,
    [
      parts.codeServer, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override",
      "--config", join(place, "config.yaml"), "--user-data-dir", join(place, "data"), "--extensions-dir", join(place, "extensions"), join(place, "work"),
    ],
    {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        PATH: dirname(parts.node) + delimiter + process.env.PATH,
        HOME: place,
        // Nobody answers there, at once: a look-up that waits would hold up the reading of files.
        EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: "http://127.0.0.1:9", itemUrl: "http://127.0.0.1:9" }),
        ...mark,
        DSH_LS_LOCAL_URL: modelUrl,
      },
    },
  );
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (data) => log.push(data.toString()));
  const url = `http://127.0.0.1:${port}/`;
  await until("the editor's server", () => fetch(url).then(({ ok }) => ok, () => false), 60_000);
  const { chromium } = await import(parts.playwright);
  const browser = await chromium.launch({ executablePath: parts.chromium, args: FLAGS, env: { ...process.env, ...mark } });
  const context = await browser.newContext({ viewport: { width: 1180, height: 760 }, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.on("pageerror", (error) => log.push(`page: ${error.message}\n`));
  /** Ends both. Returns the processes that did not end by themselves. */
  const stop = async () => {
    await browser.close();
    process.kill(-server.pid, "SIGTERM");
    await new Promise((ended) => (server.exitCode === null ? server.on("exit", ended) : ended()));
    // Every process of this editor has its mark.
    const gone = await until("the end of every process", () => processesWith(mark.DSH_LS_HOME).length === 0, 10_000).catch(() => false);
    const left = gone ? [] : processesWith(mark.DSH_LS_HOME);
    for (const { pid } of left) process.kill(pid, "SIGKILL");
    rmSync(place, { recursive: true, force: true, maxRetries: 5 });
    return left.map(({ pid, command }) => `${pid} ${command}`);
  };
  return { page, url, place, set, log, stop };
}

/** Writes settings, unless they are there; what the editor has written of a model stays. */
function writeSettings(file, settings) {
  const present = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const model = present["dsh-ls.model"];
  const wanted = { ...(model !== undefined && { "dsh-ls.model": model }), ...settings };
  if (isDeepStrictEqual(present, wanted)) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(wanted));
}

/** Asks again until `look` gives something. */
export async function until(what, look, within = 20_000) {
  const end = Date.now() + within;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`waited ${within} ms in vain for ${what}`);
    await new Promise((next) => setTimeout(next, 50));
  }
}

/** The processes that have `home` in their environment: others may run on this machine. */
export function processesWith(home) {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const isOurs = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`DSH_LS_HOME=${home}`);
      return isOurs ? [{ pid: Number(pid), command: readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim() }] : [];
    } catch {
      return [];
    }
  });
}

function freePort() {
  return new Promise((found) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => found(port));
    });
  });
}
