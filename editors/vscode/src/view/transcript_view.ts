/** The list of rows, kept in step with the model: a row is built once, and touched again only when its source is another. */
import type { Draft, Item, Model } from "../model/items.ts";
import type { Live } from "../model/live.ts";
import { summaryOf } from "../model/apply.ts";
import { h } from "./dom.ts";
import { draftRow, isShown, itemRow, type Row, type RowActions } from "./renderers.ts";

type Source = { key: string } & ({ item: Item } | { draft: Draft } | { waiting: string });

interface Shown {
  source: Item | Draft | string;
  row: Row<never>;
}

/** Shows a model as rows. */
export class TranscriptView {
  /** Read out as a whole when it is complete, not piece by piece while it grows. */
  readonly element = h("div", { class: "transcript", role: "log", label: "Conversation", live: "off" });
  private shown = new Map<string, Shown>();
  private wasInTurn = false;

  constructor(private readonly actions: RowActions) {}

  /** Brings the rows in step with `model`. */
  show(model: Model): void {
    // A call without a result looks different once its turn is over.
    const isAll = model.inTurn !== this.wasInTurn;
    this.wasInTurn = model.inTurn;
    const before = this.shown;
    this.shown = new Map();
    let next = this.element.firstChild;
    for (const source of sources(model)) {
      const row = this.rowOf(source, before.get(source.key), model, isAll);
      if (!row) continue;
      before.delete(source.key);
      this.shown.set(source.key, row);
      if (row.row.element === next) next = next.nextSibling;
      else this.element.insertBefore(row.row.element, next);
    }
    while (next) {
      const gone = next;
      next = next.nextSibling;
      gone.remove();
    }
  }

  /** Forgets the rows: those of another model have the same places, and are not the next state of these. */
  clear(): void {
    this.shown.clear();
    this.element.replaceChildren();
  }

  /** Shows in the rows what runs now. */
  tick(live: Live, now: number): void {
    for (const { row } of this.shown.values()) row.tick?.(live, now);
  }

  private rowOf(of: Source, shown: Shown | undefined, model: Model, isAll: boolean): Shown | undefined {
    const source = "item" in of ? of.item : "draft" in of ? of.draft : of.waiting;
    if (shown?.source === source && !isAll) return shown;
    if (shown?.row.update) {
      shown.row.update(source as never, model);
      return { source, row: shown.row };
    }
    if (shown?.source === source) return shown;
    const row = "item" in of ? itemRow(of.item, model, this.actions) : "draft" in of ? draftRow(of.draft, this.actions) : waitingRow(of.waiting);
    return row && { source, row: row as Row<never> };
  }
}

/** What has a row, in order. A block of an answer keeps its key when its message takes the place of its chunks. */
function sources(model: Model): Source[] {
  const all: Source[] = [];
  let retry: Source | undefined;
  model.items.forEach((item, at) => {
    if (!isShown(item, all.length > 0)) return;
    const source = { key: "key" in item ? `answer ${item.key}` : `item ${at}`, item };
    // That a request is sent again matters until something comes of it.
    retry = item.type === "llm/retry" ? { ...source, key: "retry" } : undefined;
    if (!retry) all.push(source);
  });
  if (retry) all.push(retry);
  for (const draft of model.drafts) {
    const isCall = draft.block === "tool-call";
    if (isCall || draft.text.trim() !== "") all.push({ key: isCall ? `call ${draft.key}` : `answer ${draft.key}`, draft });
  }
  if (model.hasGap) all.push({ key: "gap", waiting: "Some of the answer is left out here; all of it follows." });
  for (const message of [...model.queue["next-step"], ...model.queue["next-turn"]]) {
    const text = message.content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
    all.push({ key: `waiting ${message.id}`, waiting: summaryOf(message).summary ?? text.trim() });
  }
  return all;
}

function waitingRow(text: string): Row<string> {
  return { element: h("div", { class: "question waiting" }, h("div", { class: "question-text" }, text)) };
}
