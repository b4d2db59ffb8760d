/** Finds the places that an answer cites. */
import type { Citation } from "./messages.ts";

const NAME = String.raw`[\p{L}\p{N}_.@+~-]`;
/** `:3`, `:3-5`, `:3:9`, `#L3`, `#L3-L5`, `#L3C9`. What stands behind the line as a column is passed over. */
const LINES = String.raw`(?::(\d{1,7})(?:[-–](\d{1,7})|:\d{1,5})?|#L(\d{1,7})(?:C\d{1,5})?(?:[-–]L?(\d{1,7})(?:C\d{1,5})?)?)`;
/** In running text a path has no blanks, and an ending or a folder, so that times and ports are no citations. */
const IN_TEXT = new RegExp(String.raw`(?<![\p{L}\p{N}_/.:@-])(/?(?:${NAME}+/)*${NAME}+)${LINES}(?![\p{L}\p{N}_])`, "gu");
const WHOLE = new RegExp(String.raw`^(.*?[^:/\s])${LINES}$`, "u");
const LOOKS_LIKE_A_FILE = /\/|\.\p{L}[\p{L}\p{N}_]*$/u;
const HAS_SCHEME = /^\p{L}[\p{L}\p{N}+.-]+:/u;
/** Longer than any path, and short enough that trying every place to cut it costs nothing. */
const LONGEST = 4_000;

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

/** The citation that a text is as a whole, such as what a code span holds. Its path may have blanks. */
export function wholeCitation(text: string): Citation | undefined {
  if (text.length > LONGEST) return undefined;
  const match = WHOLE.exec(text.trim());
  return match ? toCitation(match) : undefined;
}

/** Where a link leads, if that is a file. A link may leave the line out, and has its blanks encoded. */
export function linkedCitation(target: string): Citation | undefined {
  const path = decoded(target.replace(/^file:\/\/(?:localhost)?(?=\/)/, ""));
  const cited = wholeCitation(path);
  if (cited) return cited;
  const isFile = path.length <= LONGEST && LOOKS_LIKE_A_FILE.test(path) && !HAS_SCHEME.test(path) && !/^\/\/|[?#]/.test(path);
  return isFile ? { path, line: 1 } : undefined;
}

function toCitation([, path = "", line, endLine, anchor, endAnchor]: RegExpExecArray): Citation | undefined {
  const from = Number(line ?? anchor);
  const to = endLine ?? endAnchor;
  if (!LOOKS_LIKE_A_FILE.test(path) || HAS_SCHEME.test(path) || path.startsWith("//") || from < 1) return undefined;
  return { path, line: from, ...(to !== undefined && { endLine: Number(to) }) };
}

/** Some models encode what a link leads to, and some do not. */
function decoded(target: string): string {
  try {
    return decodeURIComponent(target);
  } catch {
    return target;
  }
}
