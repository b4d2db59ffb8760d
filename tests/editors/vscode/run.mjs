/** Tests the extension in the real host. Usage: node run.mjs DSH_LS [ONLY]; `DSH_LS_EDITORS` is where the host is kept. */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { CASES } from "./cases.mjs";
import { ChatPage } from "./chat_page.mjs";
import { startHost } from "./host.mjs";
import { install, root } from "./install.mjs";
import { startModel } from "./mock_model.mjs";
import { PLAIN_CASES } from "./plain_page.mjs";

const dshLs = resolve(process.argv[2] ?? join(root, "target/release/dsh-ls"));
const only = process.argv[3] ?? "";
const parts = install(process.env.DSH_LS_EDITORS ?? join(root, "target/editors"));
const model = await startModel();
const host = await startHost({ parts, dshLs, modelUrl: model.url });
let [passed, failed] = [0, 0];
try {
  const chat = new ChatPage(host, parts, dshLs);
  if (process.env.DSH_LS_SHOTS) {
    chat.shots = resolve(process.env.DSH_LS_SHOTS);
    mkdirSync(chat.shots, { recursive: true });
  }
  await chat.open();
  for (const [name, run] of Object.entries({ ...CASES, ...PLAIN_CASES }).filter(([name]) => name.includes(only))) {
    const began = performance.now();
    try {
      await run(chat);
      passed += 1;
      console.log(`ok    ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL  ${name}\n${error.stack}`);
      await host.page.screenshot({ path: join(parts.extension, "..", `failed-${failed}.png`) });
    }
  }
} catch (error) {
  failed += 1;
  console.log(`FAIL  the editor does not start\n${error.stack}\n${host.log.join("").slice(-4000)}`);
} finally {
  await host.stop();
  model.stop();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
