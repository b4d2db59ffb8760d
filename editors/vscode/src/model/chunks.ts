/** The answer that is being written. Nothing here outlives the message that the chunks make up. */
import type { AssistantChunk } from "#protocol";
import { blockKey, type Draft, type Model } from "./items.ts";

/** Adds one piece. A piece of a block whose beginning was left out begins it. */
export function foldChunk(model: Model, { turn, step, chunk }: AssistantChunk): void {
  const key = (index: number): string => blockKey(turn, step, index);
  switch (chunk.type) {
    case "block-start": {
      const named = chunk.name === undefined ? {} : { name: chunk.name };
      const draft: Draft = { index: chunk.index, block: chunk.block, text: "", key: key(chunk.index), ...named };
      model.drafts = [...model.drafts.filter(({ index }) => index < chunk.index), draft];
      return;
    }
    case "text-delta":
      append(model, { index: chunk.index, block: "text", text: chunk.text, key: key(chunk.index) });
      return;
    case "reasoning-delta":
      append(model, { index: chunk.index, block: "reasoning", text: chunk.text, key: key(chunk.index) });
      return;
    case "tool-call-delta":
      append(model, { index: chunk.index, block: "tool-call", text: chunk.argumentsDelta, key: key(chunk.index) });
      return;
    default:
      return;
  }
}

function append(model: Model, piece: Draft): void {
  const at = model.drafts.findIndex(({ index }) => index === piece.index);
  const draft = model.drafts[at];
  if (draft) model.drafts[at] = { ...draft, text: draft.text + piece.text };
  else model.drafts.push(piece);
}
