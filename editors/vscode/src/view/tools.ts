/** How calls of tools are shown: one entry for each tool. A tool without an entry shows its name and arguments. */
import type { GlobValue, GrepValue, PacketItem, ReadValue } from "#protocol";
import { h, type IconName } from "./dom.ts";
import { extent } from "./drawings.ts";
import { citationLink, MarkdownView, type TextActions } from "./markdown_view.ts";

/** How calls of one tool are shown. */
export interface ToolView {
  icon: IconName;
  /** What it does, in a word. */
  verb: string;
  /** What it does it to. */
  subject(args: Record<string, unknown>): string;
  /** What it does it to is a path: where there is no room, its end says more than its beginning. */
  isPath?: true;
  /** What came of it, in a few words. */
  outcome(value: unknown): string | undefined;
  /** The same as a drawing, for the eye. */
  drawing?(value: unknown): Node | undefined;
  /** Its result in the tool's own shape; absent: as the text that the model read. */
  body?(value: unknown, actions: TextActions, text: string): Node | undefined;
  /** What was asked, where its subject is only a name for it. */
  asked?(args: Record<string, unknown>, actions: TextActions): Node | undefined;
  /** The session of the agent that did it. */
  child?(value: unknown): string | undefined;
}

/** The most rows of a result that are built. */
const MOST_ROWS = 200;

const TOOLS: Record<string, ToolView> = {
  deliberate: {
    icon: "fork",
    verb: "Deliberate",
    subject: (args) => word(args["goal"]),
    outcome: () => undefined,
  },
  glob: {
    icon: "list",
    verb: "List",
    subject: (args) => place(args, "pattern"),
    outcome: (value) => count((value as GlobValue).total, "file", (value as GlobValue).truncated),
    body: (value, actions) => rows((value as GlobValue).paths.map((path) => citationLink(path, { path, line: 1 }, actions))),
  },
  grep: {
    icon: "search",
    verb: "Search",
    subject: (args) => place(args, "pattern"),
    outcome: (value) => {
      const { total, truncated, matches } = value as GrepValue;
      return count(total, matches ? "match" : "file", truncated);
    },
    body: (value, actions) => {
      const { matches } = value as GrepValue;
      return matches && rows(matches.map(({ path, line, text }) => [citationLink(`${path}:${line}`, { path, line }, actions), ` ${text.trim()}`]));
    },
  },
  read: {
    icon: "file",
    verb: "Read",
    subject: (args) => word(args["file_path"]),
    isPath: true,
    outcome: (value) => {
      const { lines, totalLines } = value as ReadValue;
      const [first, last] = [lines[0], lines.at(-1)];
      if (!first || !last) return "empty";
      if (lines.length === totalLines) return count(totalLines, "line", false);
      return first.number === last.number ? `line ${first.number}` : `lines ${first.number}–${last.number}`;
    },
    drawing: (value) => {
      const { lines, totalLines } = value as ReadValue;
      const [first, last] = [lines[0], lines.at(-1)];
      return first && last && lines.length < totalLines ? extent(first.number, last.number, totalLines) : undefined;
    },
    body: (value, actions) => {
      const { path, lines } = value as ReadValue;
      return rows(lines.map(({ number, text }) => [citationLink(String(number), { path, line: number }, actions), ` ${text}`]));
    },
  },
  structured_output: {
    icon: "check",
    verb: "Hand in",
    subject: (args) => word(args["status"]).replaceAll("_", " "),
    outcome: () => undefined,
    asked: (args, actions) => {
      const items = (args["items"] ?? []) as PacketItem[];
      return h("div", {}, ...items.map(({ content }) => markdown(content, actions)));
    },
  },
  subagent: {
    icon: "agent",
    verb: "Subagent",
    subject: (args) => word(args["description"]),
    outcome: () => undefined,
    asked: (args, actions) => h("div", { class: "asked" }, markdown(word(args["prompt"]), actions)),
    body: (_value, actions, text) => markdown(text, actions),
    child: (value) => (value as { childSessionId?: string }).childSessionId,
  },
};

/** How calls of a tool of that name are shown. */
export function toolView(name: string): ToolView {
  const known = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  return known ?? { icon: "spark", verb: name, subject: (args) => JSON.stringify(args), outcome: () => undefined };
}

function markdown(text: string, actions: TextActions): Node {
  const view = new MarkdownView(actions);
  view.show(text);
  return view.element;
}

function rows(lines: (Node | (Node | string)[])[]): Node {
  const shown = lines.slice(0, MOST_ROWS).map((line) => h("div", { class: "row" }, ...[line].flat()));
  const more = lines.length - shown.length;
  if (more > 0) shown.push(h("div", { class: "row more" }, `… ${more} more`));
  return h("div", { class: "rows" }, ...shown);
}

function place(args: Record<string, unknown>, key: string): string {
  const within = args["include"] ?? args["path"];
  return within === undefined ? word(args[key]) : `${word(args[key])} in ${word(within)}`;
}

function word(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

function count(total: number, noun: string, isMore: boolean): string {
  const plural = noun === "match" ? "matches" : `${noun}s`;
  return `${total}${isMore ? "+" : ""} ${total === 1 ? noun : plural}`;
}
