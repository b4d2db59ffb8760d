/** Bundles the extension and its view into `dist`, and with `--tests` the tests into `dist/tests`. */
import { readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const shared = { absWorkingDir: root, bundle: true, logLevel: "warning", legalComments: "none", target: "es2022" };
const forNode = { ...shared, platform: "node", format: "cjs", external: ["vscode"] };

if (process.argv.includes("--tests")) {
  rmSync(`${root}dist/tests`, { recursive: true, force: true });
  const entryPoints = readdirSync(`${root}tests`).filter((name) => name.endsWith(".test.ts")).map((name) => `tests/${name}`);
  await build({ ...forNode, entryPoints, outdir: "dist/tests", sourcemap: "inline" });
} else {
  await build({ ...forNode, entryPoints: { extension: "src/main.ts" }, outdir: "dist", minify: true });
  await build({ ...shared, platform: "browser", format: "iife", entryPoints: { view: "src/view/main.ts" }, outdir: "dist", minify: true });
}
