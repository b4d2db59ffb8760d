/** What came of checking an answer's citations: a quiet mark, or what does not hold and where it stands now. */
import type { EvidenceFailure, ReviewItemState } from "#protocol";
import type { Item } from "../model/items.ts";
import { h, icon } from "./dom.ts";
import { citationLink, type TextActions } from "./markdown_view.ts";

/** As many failures as are shown at once; the others open. */
const MOST_OPEN = 5;

type Check = Extract<Item, { type: "evidence/checked" }>;

/** The row under an answer. */
export function evidenceRow(first: Check, actions: TextActions) {
  let element = show(first, actions);
  const row = h("div", {}, element);
  const update = (check: Check): void => {
    const next = show(check, actions);
    element.replaceWith(next);
    element = next;
  };
  return { element: row, update };
}

function show({ checked, failures, states }: Check, actions: TextActions): HTMLElement {
  const citations = `${checked} ${checked === 1 ? "citation" : "citations"}`;
  if (failures.length === 0) {
    const words = checked === 1 ? `${citations} holds` : `${citations} hold`;
    return h("div", { class: "evidence", title: "Each was compared with the files of the folder." }, icon("check"), words);
  }
  const lines = failures.map((failure, at) => failureLine(failure, states[at] ?? "open", actions));
  const head = `${failures.length} of ${citations} ${failures.length === 1 ? "does" : "do"} not hold`;
  const element = h("div", { class: "evidence bad", role: "note", label: head }, icon("warning"));
  const list = h("div", { class: "note-text" }, h("div", { class: "evidence-head" }, head), ...lines.slice(0, MOST_OPEN));
  const more = lines.slice(MOST_OPEN);
  if (more.length > 0) list.append(h("details", { class: "evidence-more" }, h("summary", {}, `${more.length} more`), ...more));
  element.append(list);
  return element;
}

function failureLine(failure: EvidenceFailure, state: ReviewItemState, actions: TextActions): HTMLElement {
  const { path, line } = failure;
  const cited = h("code", { class: "cited-place" }, line === undefined ? path : `${path}:${line}`);
  const told = state === "open" ? [] : [" ", h("span", { class: "state" }, state)];
  return h("div", { class: `failure ${state}` }, cited, " ", ...whatIsWrong(failure, actions), ...told);
}

function whatIsWrong({ path, quote, reason, now }: EvidenceFailure, actions: TextActions): (Node | string)[] {
  const quoted = quote === undefined ? "what is quoted" : h("code", {}, quote);
  const place = now === undefined ? undefined : citationLink(`${path}:${now}`, { path, line: now }, actions);
  switch (reason) {
    case "missing-file":
      return ["there is no such file"];
    case "line-out-of-range":
      return ["the file has no such line"];
    case "quote-not-found":
      return [quoted, " is nowhere in the file"];
    case "quote-moved":
      return place ? [quoted, " stands at ", place, " now"] : [quoted, " stands elsewhere in the file"];
    case "identifier-not-near":
      return place ? [quoted, " is not near that line; the nearest is at ", place] : [quoted, " is not near that line"];
    default:
      return ["does not hold"];
  }
}
