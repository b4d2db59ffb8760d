/** Prints a model as the plain text that every editor of dsh-ls prints alike; `protocol/README.md` has its grammar. */
import type { TurnEnd } from "#protocol";
import type { Item, Model } from "./items.ts";
import { cleanLines, textOfBlocks, textOfCall } from "./text.ts";

const TEXT_COLUMN = 8;

/** A label, empty for a mark, and the text behind it. */
type Entry = [label: string, text: string];

/** The whole transcript. */
export function transcript(model: Model): string {
  return model.items.map((item) => entriesOf(item).map((entry) => print(item.depth, entry)).join("")).join("");
}

function entriesOf(item: Item): Entry[] {
  switch (item.type) {
    case "surface/replace":
      return [["replace", `${item.start}-${item.end}`]];
    case "turn/start":
      return [["", "turn"]];
    case "turn/end":
      return [["", `done ${textOfEnd(item.reason)}`]];
    case "step/start":
      return [["", "step"]];
    case "user/message": {
      const text = textOfBlocks(item.content);
      return [item.plugin === undefined ? ["user", text] : ["notice", `${item.plugin}: ${text}`]];
    }
    case "assistant/message":
      return [[item.block === "reasoning" ? "think" : "say", item.text]];
    case "assistant/chunk":
      return [];
    case "assistant/interrupted":
      return [["", "interrupted"]];
    case "tool/call":
      return [["call", textOfCall(item.name, item.arguments)]];
    case "tool/result":
      if (!item.isError) return [["result", item.text]];
      return [["error", item.code === undefined ? item.text : `${item.code} ${item.text}`]];
    case "llm/retry":
      return [["retry", `${item.failure.code} ${item.failure.message}`]];
    case "session/title":
      return [["title", item.title]];
    case "session/model":
      return [["model", `${item.model.provider}/${item.model.model}`]];
    case "agent/inbox/spliced":
      return [[item.what, item.text]];
    case "message/outcome":
      return [["dropped", item.text], ["reason", `${item.kind}: ${item.reason}`]];
    // A model never sees them, and the printed text is what it sees.
    case "deliberation/started":
    case "evidence/checked":
    case "review/claimed":
    case "session/end-seed":
    case "command/run":
      return [];
  }
}

function textOfEnd(reason: TurnEnd): string {
  switch (reason.kind) {
    case "aborted":
      return `aborted ${reason.reason}`;
    case "error":
      return `error ${reason.error.code} ${reason.error.message}`;
    case "limit":
      return `limit ${reason.what}`;
    default:
      return reason.kind;
  }
}

/** The lines of one entry: the first behind the label, the others in the column of its text. */
function print(depth: number, [label, text]: Entry): string {
  const indent = " ".repeat(2 * depth);
  const first = label === "" ? indent : indent + label.padEnd(TEXT_COLUMN);
  const further = indent + " ".repeat(TEXT_COLUMN);
  return cleanLines(text)
    .map((line, at) => {
      const start = at === 0 ? first : further;
      return `${line === "" ? start.trimEnd() : start + line}\n`;
    })
    .join("");
}
