/**
 * How each kind of row is shown: one table, keyed by the type of the event that a row comes from. A kind without an entry
 * is not shown. Calls of tools go on to the table in `tools.ts`.
 */
import type { ContentBlock, ModelFailure, TurnEnd } from "#protocol";
import type { Draft, Item, Model } from "../model/items.ts";
import type { Live } from "../model/live.ts";
import { parseArguments } from "../model/text.ts";
import { h, icon, type IconName } from "./dom.ts";
import { evidenceRow } from "./evidence.ts";
import { citationLink, MarkdownView } from "./markdown_view.ts";
import { type ReviewActions, reviewRow } from "./reviews.ts";
import { childLink, roundRow, type RoundActions } from "./rounds.ts";
import { toolView } from "./tools.ts";

/** What rows can do. */
export interface RowActions extends RoundActions, ReviewActions {
  /** Sends the last question again. */
  again(): void;
}

/** An element that shows what it was made for, and can show its next state. */
export interface Row<Source> {
  element: HTMLElement;
  update?(source: Source, model: Model): void;
  /** Shows what runs now; `now` is the time by the page's clock. */
  tick?(live: Live, now: number): void;
}

type ItemOf<Type extends Item["type"]> = Extract<Item, { type: Type }>;
type Renderers = {
  [Type in Item["type"]]?: (item: ItemOf<Type>, model: Model, actions: RowActions) => Row<ItemOf<Type>>;
};

const RENDERERS: Renderers = {
  "user/message": (item, _model, actions) => {
    if (item.summary !== undefined) return noticeRow(item.summary, item.content, actions);
    const pieces = item.content.map((block) => showInput(block, actions));
    const notice = item.plugin === undefined ? "" : " notice";
    return { element: h("div", { class: `question${notice}`, role: "article", label: "Question" }, ...pieces) };
  },
  "assistant/chunk": (item, _model, actions) => answerRow(item.block === "reasoning", item, actions),
  "assistant/message": (item, _model, actions) => answerRow(item.block === "reasoning", item, actions),
  "tool/call": (item, model, actions) => toolRow(item, model, actions),
  "llm/retry": (item) => note("warning", `${item.failure.message}. Asking again (${item.retry} of ${item.maxRetries}).`),
  "message/outcome": (item) => note("warning", `Not asked: ${item.text} (${item.reason})`),
  "surface/replace": () => note("spark", "Earlier messages were shortened for the model."),
  "deliberation/started": (item, _model, actions) => roundRow(item, actions),
  "evidence/checked": (item, _model, actions) => evidenceRow(item, actions),
  "review/claimed": (item, _model, actions) => reviewRow(item, actions),
  "session/end-seed": () => note("fork", "What stands above was inherited; from here on this agent works by itself."),
  "command/run": (item) => commandRow(item),
  "session/model": (item) => note("spark", `From here on: ${item.model.provider}/${item.model.model}`),
  "turn/end": (item, _model, actions) => {
    const told = tellEnd(item.reason);
    if (!told) return { element: h("div", { class: "turn-end" }) };
    const again = h("button", { class: "secondary", onclick: () => actions.again() }, "Ask again");
    const text = h("div", { class: "note-text" }, told.text);
    const element = h("div", { class: `note end ${told.tone}`, role: "status" }, icon(told.icon), text);
    if (told.detail) text.append(h("div", { class: "detail" }, told.detail), h("div", { class: "buttons" }, again));
    else element.append(again);
    return { element };
  },
};

/** A row for an item, if its kind is shown. */
export function itemRow(item: Item, model: Model, actions: RowActions): Row<Item> | undefined {
  const render = RENDERERS[item.type] as ((item: Item, model: Model, actions: RowActions) => Row<Item>) | undefined;
  return render?.(item, model, actions);
}

/** Whether an item has a row. With which model a session begins is shown where a person types. */
export function isShown(item: Item, hasRowsBefore: boolean): boolean {
  return item.type in RENDERERS && (hasRowsBefore || (item.type !== "session/model" && item.type !== "session/end-seed"));
}

/** A row for a block that is being written. It looks like the item that will take its place. */
export function draftRow(draft: Draft, actions: RowActions): Row<Draft> {
  if (draft.block === "tool-call") return draftCallRow(draft);
  const { element, update } = answerRow(draft.block === "reasoning", { text: draft.text }, actions);
  return { element, ...(update && { update }) };
}

interface Answer {
  text: string;
  /** A review looks at it, so that it may not be the last word. */
  isDraft?: true;
}

function answerRow(isReasoning: boolean, answer: Answer, actions: RowActions): Row<Answer> {
  const view = new MarkdownView(actions);
  if (!isReasoning) {
    const element = h("div", { class: "answer", role: "article", label: "Answer" }, view.element);
    let mark: HTMLElement | undefined;
    const update = ({ text, isDraft }: Answer): void => {
      view.show(text);
      if (isDraft && !mark) element.append((mark = h("div", { class: "draft-mark", role: "note" }, icon("review"), "Draft: it is being reviewed")));
      if (!isDraft) {
        mark?.remove();
        mark = undefined;
      }
      element.classList.toggle("draft", isDraft === true);
    };
    update(answer);
    return { element, update };
  }
  const update = ({ text }: Answer): void => view.show(text);
  update(answer);
  const summary = h("summary", {}, icon("chevron"), icon("spark"), h("span", { class: "verb" }, "Thought"));
  return { element: h("details", { class: "tool thought" }, summary, h("div", { class: "tool-body" }, view.element)), update };
}

function toolRow(item: ItemOf<"tool/call">, model: Model, actions: RowActions): Row<ItemOf<"tool/call">> {
  const view = toolView(item.name);
  const args = parseArguments(item.arguments);
  const subject = args ? view.subject(args) : item.arguments;
  const outcome = h("span", { class: "outcome" });
  const found = h("div", {});
  const body = h("div", { class: "tool-body" });
  const summary = h("summary", { title: `${item.name} ${item.arguments}`.slice(0, 600) }, icon("chevron"), icon(view.icon));
  summary.append(h("span", { class: "verb" }, view.verb), h("span", { class: view.isPath ? "subject path" : "subject" }, h("bdi", {}, subject)), outcome);
  const element = h("details", { class: "tool" }, summary, body);
  let result: ItemOf<"tool/result"> | undefined;
  // A result may be long: it is built when it is first looked at.
  const fill = (): void => {
    if (!element.open) return;
    if (body.childElementCount === 0) {
      const asked = args && attempt(() => view.asked?.(args, actions));
      body.append(...(asked ? [asked] : []), found);
    }
    if (result && found.childElementCount === 0) found.append(showResult(item.name, result, actions));
  };
  element.addEventListener("toggle", fill);
  let child: string | undefined;
  let words = "";
  const tell = (): void => {
    const drawing = result && !result.isError ? attempt(() => view.drawing?.(result?.value)) : undefined;
    const open = child === undefined ? [] : [childLink(child, subject, actions)];
    outcome.replaceChildren(...(drawing ? [drawing] : []), words, ...open);
  };
  const update = (call: ItemOf<"tool/call">, now: Model): void => {
    const answered = now.items[call.result ?? -1];
    result = answered?.type === "tool/result" ? answered : undefined;
    element.classList.toggle("running", !result && now.inTurn);
    element.classList.toggle("failed", result?.isError === true);
    child = (result && attempt(() => view.child?.(result?.value))) ?? child;
    words = result ? tellResult(item.name, result) : now.inTurn ? "…" : "no result";
    tell();
    fill();
  };
  update(item, model);
  if (!view.child) return { element, update };
  // Its result says which session it was; until then the server does.
  const tick = ({ children }: Live): void => {
    const known = children.find(({ callId }) => callId === item.callId);
    if (result || child !== undefined || !known) return;
    child = known.childSessionId;
    tell();
  };
  return { element, update, tick };
}

function draftCallRow(draft: Draft): Row<Draft> {
  const view = toolView(draft.name ?? "Tool");
  const summary = h("div", { class: "summary" }, icon("chevron"), icon(view.icon), h("span", { class: "verb" }, view.verb));
  return { element: h("div", { class: "tool running" }, summary) };
}

function showResult(name: string, result: ItemOf<"tool/result">, actions: RowActions): Node {
  const shaped = result.isError || result.value === undefined ? undefined : attempt(() => toolView(name).body?.(result.value, actions, result.text));
  return shaped ?? h("pre", {}, result.text);
}

function tellResult(name: string, result: ItemOf<"tool/result">): string {
  if (result.isError) return result.code ?? "failed";
  return attempt(() => toolView(name).outcome(result.value)) ?? "";
}

/** A value of another shape than this client knows is shown as text. */
function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function showInput(block: ContentBlock, actions: RowActions): Node | string {
  if (block.type === "text") return h("div", { class: "question-text" }, block.text.trim());
  if (block.type !== "resource") return h("span", { class: "chip" }, block.type);
  const path = decodeURIComponent(new URL(block.uri).pathname);
  const name = path.split("/").at(-1) ?? path;
  const line = block.range?.startLine ?? 1;
  const text = block.range ? `${name}:${line}-${block.range.endLine}` : name;
  return h("div", { class: "chip" }, icon("file"), citationLink(text, { path, line }, actions));
}

function note(drawing: IconName, text: string): { element: HTMLElement } {
  return { element: h("div", { class: "note" }, icon(drawing), h("div", { class: "note-text" }, text)) };
}

/** A plugin's message: what it says of it in one line, and the whole when it is opened. */
function noticeRow(summary: string, content: ContentBlock[], actions: RowActions): { element: HTMLElement } {
  const line = h("summary", {}, icon("chevron"), icon("spark"), h("span", { class: "verb" }, "Told the agent"), h("span", { class: "subject", title: summary }, summary));
  const body = h("div", { class: "tool-body" }, ...content.map((block) => (block.type === "text" ? h("pre", {}, block.text) : showInput(block, actions))));
  return { element: h("details", { class: "tool notice" }, line, body) };
}

/** A command that a person typed, and below it what it said. */
function commandRow(item: ItemOf<"command/run">): Row<ItemOf<"command/run">> {
  const element = h("div", { role: "status" });
  const update = ({ line, result }: ItemOf<"command/run">): void => {
    const isBad = result?.ok === false;
    element.className = isBad ? "note command bad" : "note command";
    const said = h("div", { class: "said" }, result ? result.text : "…");
    element.replaceChildren(icon(isBad ? "warning" : "spark"), h("div", { class: "note-text" }, h("code", { class: "cut" }, line), said));
  };
  update(item);
  return { element, update };
}

interface Told {
  text: string;
  icon: IconName;
  tone: "quiet" | "bad";
  detail?: string;
}

/** What a person reads at the end of a turn; nothing when all went well. */
function tellEnd(reason: TurnEnd): Told | undefined {
  switch (reason.kind) {
    case "completed":
      return undefined;
    case "aborted":
      return { text: reason.reason === "user" ? "Stopped." : "Stopped: the server was closed.", icon: "stop", tone: "quiet" };
    case "interrupted":
      return { text: "Interrupted: the server ended here.", icon: "warning", tone: "quiet" };
    case "max-tokens":
      return { text: "The answer reached the model's length limit.", icon: "warning", tone: "quiet" };
    case "blocked":
      return { text: "A hook refused this question.", icon: "warning", tone: "bad" };
    case "limit":
      return { text: `Stopped: the limit of ${reason.what} for one answer was reached.`, icon: "warning", tone: "quiet" };
    case "error":
      return { text: tellFailure(reason.error), icon: "warning", tone: "bad", detail: reason.error.message };
    default:
      return { text: "The answer ended early.", icon: "warning", tone: "quiet" };
  }
}

function tellFailure({ code }: ModelFailure): string {
  if (code === "AUTH") return "The model's provider did not accept the key. Set it in the environment and restart the editor.";
  if (code === "RATE_LIMIT") return "The model's provider asks to wait. Try again in a moment.";
  return `The model failed (${code}).`;
}
