/** Finds the places that an answer cites. */
import type { Citation } from "./messages.ts";

const NAME = String.raw`[\p{L}\p{N}_.@+~-]`;
const LINES = String.raw`:(\d{1,7})(?:[-–](\d{1,7}))?`;
/** In running text a path has no blanks, and an ending or a folder, so that times and ports are no citations. */
const IN_TEXT = new RegExp(String.raw`(?<![\p{L}\p{N}_/.:@-])(/?(?:${NAME}+/)*${NAME}+)${LINES}(?![\p{L}\p{N}_])`, "gu");
const WHOLE = new RegExp(`^(.*[^:/\\s])${LINES}$`, "u");
const LOOKS_LIKE_A_FILE = /\/|\.\p{L}[\p{L}\p{N}_]*$/u;
const HAS_SCHEME = /^\p{L}[\p{L}\p{N}+.-]+:/u;

/** A text cut into plain pieces and citations. */
export function splitAtCitations(text: string): (string | (Citation & { text: string }))[] {
  const pieces: ReturnType<typeof splitAtCitations> = [];
  let end = 0;
  for (const match of text.matchAll(IN_TEXT)) {
    const citation = toCitation(match);
    if (!citation) continue;
    if (match.index > end) pieces.push(text.slice(end, match.index));
    pieces.push({ text: match[0], ...citation });
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

/** The citation that a text is as a whole: what a code span holds or a link leads to. */
export function wholeCitation(text: string): Citation | undefined {
  const match = WHOLE.exec(text.trim().replace(/#L(\d+)(?:-L?(\d+))?$/, (_, from: string, to?: string) => `:${from}${to ? `-${to}` : ""}`));
  return match ? toCitation(match) : undefined;
}

function toCitation([, path = "", line = "", endLine]: RegExpExecArray): Citation | undefined {
  if (!LOOKS_LIKE_A_FILE.test(path) || HAS_SCHEME.test(path) || Number(line) < 1) return undefined;
  return { path, line: Number(line), ...(endLine !== undefined && { endLine: Number(endLine) }) };
}
