/** What the extension decides by itself: which program, whether again, which file, and what it declares. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { findServer } from "../src/find.ts";
import { locate } from "../src/places.ts";
import { Restarts } from "../src/restarts.ts";

const root = join(__dirname, "../..");
const machine = (...files: string[]) => ({ path: "/a:relative:/b", home: "/home/me", isWindows: false, canRun: (file: string) => files.includes(file) });

test("the setting comes first, then the PATH", () => {
  assert.deepEqual(findServer(" /x/dsh-ls ", machine("/x/dsh-ls", "/a/dsh-ls")), { path: "/x/dsh-ls" });
  assert.deepEqual(findServer("~/dsh-ls", machine("/home/me/dsh-ls")), { path: "/home/me/dsh-ls" });
  assert.deepEqual(findServer("", machine("/b/dsh-ls")), { path: "/b/dsh-ls" });
});

test("a program that is not found is told with what can be done", () => {
  const problem = (setting: string) => (findServer(setting, machine()) as { problem: string }).problem;
  assert.match(problem(""), /not found on the PATH.*dsh-ls\.server\.path/);
  assert.match(problem("/x"), /no program at \/x.*dsh-ls\.server\.path/);
  assert.match(problem("x/dsh-ls"), /whole path/);
});

test("a server is started again at once, then later and later, then not at all", () => {
  const restarts = new Restarts();
  assert.deepEqual([0, 1, 2, 3, 4, 5].map((now) => restarts.next(now)), [0, 250, 500, 1000, 2000, undefined]);
  restarts.forget();
  assert.equal(restarts.next(6), 0);
  assert.equal(restarts.next(10 * 60 * 1000), 0);
});

test("only files inside the folder are opened, links followed", async () => {
  const place = mkdtempSync(join(tmpdir(), "dsh-ls-places-"));
  const folder = join(place, "work");
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "src/..a.rs"), "");
  writeFileSync(join(place, "secret"), "");
  symlinkSync(join(place, "secret"), join(folder, "link"));
  symlinkSync("src/..a.rs", join(folder, "inner"));
  const isOpened = async (path: string) => "file" in (await locate(folder, path));
  for (const path of ["src/..a.rs", "./src/..a.rs", join(folder, "src/..a.rs"), "inner"]) assert.ok(await isOpened(path), path);
  for (const path of ["../secret", join(place, "secret"), "link", "", ".", "src/missing.rs", "src/../../secret"]) assert.ok(!(await isOpened(path)), path);
});

test("each command has a file and is declared, and none is declared without", () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { contributes: { commands: { command: string }[] } };
  const declared = manifest.contributes.commands.map(({ command }) => command.replace("dsh-ls.", ""));
  const files = readdirSync(join(root, "src/commands")).filter((name) => !["index.ts", "tell.ts"].includes(name));
  const named = files.map((name) => name.replace(".ts", "").replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()));
  assert.deepEqual(declared.toSorted(), named.toSorted());
});

test("only the outer layer knows the editor, and nothing parses HTML", () => {
  for (const layer of ["client", "model", "view"]) {
    for (const name of readdirSync(join(root, "src", layer))) {
      const text = readFileSync(join(root, "src", layer, name), "utf8");
      assert.doesNotMatch(text, /from "vscode/, name);
      assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\.style\b/, name);
      assert.match(text, /^\/\*\*/, name);
      assert.ok(text.split("\n").length <= 300, name);
    }
  }
});
