/**
 * Reads the part of Markdown that answers use, without building anything: blocks by lines, spans inside a block.
 *
 * Only the last block can change when text is appended, so a growing answer is read from where its last block began.
 */

/** One block and where it begins in the text. */
export type Block = { start: number } & (
  | { kind: "paragraph" | "quote"; text: string }
  | { kind: "heading"; level: number; text: string }
  | { kind: "item"; depth: number; marker: string; text: string }
  /** Each line of it is ended. */
  | { kind: "code"; language: string; text: string }
  | { kind: "rule" }
);

/** One piece of a block's text. */
export type Span =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "emphasis"; spans: Span[] }
  | { kind: "link"; text: string; target: string };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;

/** The blocks of `text` from `start` on, which must be where a block begins. */
export function readBlocks(text: string, start = 0): Block[] {
  const blocks: Block[] = [];
  let at = start;
  let fence: { mark: string; block: Block & { kind: "code" } } | undefined;
  while (at < text.length) {
    const newline = text.indexOf("\n", at);
    const line = text.slice(at, newline < 0 ? text.length : newline).replace(/\r$/, "");
    if (fence) {
      const closing = line.trim();
      const closes = closing.startsWith(fence.mark) && closing === fence.mark.charAt(0).repeat(closing.length);
      if (closes) fence = undefined;
      else fence.block.text += `${line}\n`;
    } else {
      const opening = FENCE.exec(line);
      if (opening) {
        const block = { kind: "code" as const, start: at, language: (opening[2] ?? "").trim(), text: "" };
        fence = { mark: opening[1] ?? "", block };
        blocks.push(block);
      } else {
        readLine(blocks, line, at);
      }
    }
    if (newline < 0) break;
    at = newline + 1;
  }
  return blocks.filter((block) => block.kind !== "paragraph" || block.text !== "");
}

/** Reads a line outside a fence. An empty paragraph in the list stands for an empty line: nothing joins across it. */
function readLine(blocks: Block[], line: string, start: number): void {
  const last = blocks.at(-1);
  const [heading, item, quote] = [HEADING.exec(line), ITEM.exec(line), QUOTE.exec(line)];
  if (line.trim() === "") {
    blocks.push({ kind: "paragraph", start, text: "" });
  } else if (RULE.test(line)) {
    blocks.push({ kind: "rule", start });
  } else if (heading) {
    blocks.push({ kind: "heading", start, level: heading[1]?.length ?? 1, text: heading[2] ?? "" });
  } else if (item) {
    const depth = Math.min(4, Math.floor((item[1] ?? "").replaceAll("\t", "  ").length / 2));
    const marker = /\d/.test(item[2] ?? "") ? (item[2] ?? "") : "•";
    blocks.push({ kind: "item", start, depth, marker, text: item[3] ?? "" });
  } else if (quote) {
    if (last?.kind === "quote") last.text += `\n${quote[1] ?? ""}`;
    else blocks.push({ kind: "quote", start, text: quote[1] ?? "" });
  } else if (last && "text" in last && last.text !== "" && (last.kind === "paragraph" || last.kind === "item")) {
    last.text += `\n${line.trim()}`;
  } else {
    blocks.push({ kind: "paragraph", start, text: line.trim() });
  }
}

const SPAN =
  /(?<ticks>`+)(?<code>[^`](?:.*?[^`])?)\k<ticks>(?!`)|!?\[(?<label>[^\][\n]{1,500})\]\((?:<(?<angled>[^<>\n]{1,2000})>|(?<target>[^()\s]{1,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,2000}){0,4}))\)|(?<![*\w])\*\*(?<strong>[^\s*](?:[^*]*[^\s*])?)\*\*|(?<![*\w])\*(?<star>[^\s*](?:[^*\n]*[^\s*])?)\*(?!\w)|(?<![\w_])_(?<line>[^\s_](?:[^_\n]*[^\s_])?)_(?!\w)/gs;

/** The spans of a block's text. */
export function readSpans(text: string): Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const match of text.matchAll(SPAN)) {
    const { code, label, angled, target = angled ?? "", strong, star, line } = match.groups ?? {};
    const emphasis = star ?? line;
    if (match.index > end) spans.push({ kind: "text", text: text.slice(end, match.index) });
    end = match.index + match[0].length;
    if (code !== undefined) spans.push({ kind: "code", text: code.replace(/^ (.*\S.*) $/s, "$1") });
    else if (label !== undefined) spans.push({ kind: "link", text: label, target });
    else if (strong !== undefined) spans.push({ kind: "strong", spans: readSpans(strong) });
    else if (emphasis !== undefined) spans.push({ kind: "emphasis", spans: readSpans(emphasis) });
  }
  if (end < text.length) spans.push({ kind: "text", text: text.slice(end) });
  return spans;
}
