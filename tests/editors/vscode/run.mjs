/**
 * Tests the extension: its own checks, then what it does in the real host, installed from its package.
 * Usage: node run.mjs DSH_LS [ONLY …]; `DSH_LS_EDITORS` is where the host is kept, `DSH_LS_SHOTS` where pictures go.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { CASES } from "./cases.mjs";
import { ChatPage } from "./chat_page.mjs";
import { startHost } from "./host.mjs";
import { check, install, root } from "./install.mjs";
import { startModel } from "./mock_model.mjs";
import { PLAIN_CASES } from "./plain_page.mjs";

const STARTS = "the editor starts";
/** Longer than any good run takes once everything is installed. */
const PATIENCE_MS = 8 * 60_000;

const dshLs = resolve(process.argv[2] ?? join(root, "target/release/dsh-ls"));
const only = process.argv.slice(3);
const cache = process.env.DSH_LS_EDITORS ?? join(root, "target/editors");
let [passed, failed] = [0, 0];
let host;
let chat;

const parts = await timed("everything is installed", () => install(cache));
if (!parts) process.exit(1);
for (const name of readdirSync(cache).filter((each) => each.startsWith("failed-"))) rmSync(join(cache, name));
if (only.length === 0) await timed("npm run check", check);
const model = await startModel();
host = await startHost({ parts, dshLs, modelUrl: model.url });
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void end(`stopped by ${signal}`));
setTimeout(() => void end(`not done after ${PATIENCE_MS} ms`), PATIENCE_MS).unref();
try {
  chat = new ChatPage(host, parts, dshLs);
  chat.model = model;
  if (process.env.DSH_LS_SHOTS) {
    chat.pictures = resolve(process.env.DSH_LS_SHOTS);
    mkdirSync(chat.pictures, { recursive: true });
  }
  await timed(STARTS, () => chat.open());
  for (const [name, run] of Object.entries({ ...CASES, ...PLAIN_CASES }).filter(([name]) => only.length === 0 || only.some((part) => name.includes(part)))) await timed(name, () => run(chat));
} finally {
  await end();
}

/** Runs one part and says what came of it. */
async function timed(name, run) {
  const began = performance.now();
  try {
    const result = await run();
    passed += 1;
    console.log(`ok    ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    return result;
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error.stack}`);
    if (host) {
      await host.page.screenshot({ path: join(cache, `failed-${failed}.png`) }).catch(() => undefined);
      if (name === STARTS) console.log(host.log.join("").slice(-4_000));
      else await chat?.recover().catch((reason) => console.log(`      and what it left could not be closed: ${reason.message.split("\n")[0]}`));
    }
  }
}

/** Ends the host and this program; with a reason it was no good run. */
async function end(reason) {
  model.stop();
  const left = await host.stop();
  for (const process of left) console.log(`FAIL  this process did not end: ${process}`);
  if (reason) console.log(`FAIL  ${reason}`);
  failed += left.length + (reason ? 1 : 0);
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}
