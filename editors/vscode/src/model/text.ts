/** Messages, blocks and calls as text, by the grammar of `protocol/README.md`. */
import type { ContentBlock, Message } from "#protocol";

/** The text of blocks, each on lines of its own. */
export function textOfBlocks(blocks: readonly ContentBlock[]): string {
  return blocks.map(textOfBlock).join("\n");
}

/** The text of a message without the name of its plugin. */
export function textOfMessage(message: Message): string {
  return textOfBlocks(message.content);
}

/** Text as it is, anything else as a word in brackets. */
export function textOfBlock(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return `[image ${block.mediaType}]`;
    case "resource": {
      const lines = block.range ? `:${block.range.startLine}-${block.range.endLine}` : "";
      return `[resource ${block.uri}${lines}]`;
    }
    default:
      return `[${block.type}]`;
  }
}

/** The arguments of a call as an object, or nothing if they are none. */
export function parseArguments(written: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(written);
    const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A call as its tool's name and its most telling argument, or all arguments exactly as the model wrote them. */
export function textOfCall(name: string, written: string): string {
  const parsed = parseArguments(written);
  const telling = [parsed?.["file_path"], parsed?.["pattern"]].find((value) => typeof value === "string");
  return `${name} ${telling ?? written}`;
}

/** Whether nothing of a text is left to show. */
export function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}

/** The lines of a text: no blanks at its end and no control character that a terminal would obey. */
export function cleanLines(text: string): string[] {
  let end = text.length;
  while (end > 0 && " \t\r\n".includes(text.charAt(end - 1))) end -= 1;
  const kept = text.slice(0, end).replaceAll("\r\n", "\n");
  return kept.split("\n").map((line) => line.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "\ufffd"));
}
