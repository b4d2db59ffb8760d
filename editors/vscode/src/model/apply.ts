/**
 * Folds events into a model. Deterministic, without input or output: the same events give the same model in every
 * editor, at once or one by one. Adding an event type is one entry of `folds`.
 */
import type { Event, Message, ToolResult } from "#protocol";
import { foldChunk } from "./chunks.ts";
import { blockKey, type Depth, type Item, type Model, type TypedCommand } from "./items.ts";
import { claim, splice, takeClaimed } from "./queue.ts";
import { claimedReview, foldReviewChild, foldReviewItem, releaseReview, settleReview } from "./reviews.ts";
import { foldBranch, settleRound, waitingBranches } from "./rounds.ts";
import { textOfBlock, textOfBlocks, textOfMessage, isBlank } from "./text.ts";

type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;
type Folds = { [Type in Event["type"]]: (model: Model, event: EventOf<Type>) => void };
type NewItem = Item extends infer Each ? (Each extends Item ? Omit<Each, "depth"> : never) : never;

/** Adds one event. Events come in the order of `seq`; one that is known already changes nothing. */
export function apply(model: Model, event: Event): void {
  if (event.seq <= model.lastSeq) return;
  model.lastSeq = event.seq;
  if (event.type !== "assistant/chunk") model.settledSeq = event.seq;
  if (typeof event.surfaceOp === "object") {
    add(model, { type: "surface/replace", start: event.surfaceOp.start, end: event.surfaceOp.end });
  }
  // A newer server may send types that this client has never heard of.
  const isKnown = Object.hasOwn(folds, event.type);
  if (isKnown) (folds[event.type] as (model: Model, event: Event) => void)(model, event);
}

/** Forgets the chunks after the last other event, for a reader that goes on with another server: they may not be in the log. */
export function rewind(model: Model): void {
  model.lastSeq = model.settledSeq;
  dropDrafts(model);
}

/** Notes that chunks of the running answer were left out. */
export function noteLag(model: Model): void {
  model.hasGap = true;
}

/** Notes that a command runs here, or what came of it. */
export function noteCommand(model: Model, command: TypedCommand): void {
  const at = model.items.findLastIndex((item) => item.type === "command/run" && item.id === command.id);
  const known = model.items[at];
  if (known?.type === "command/run") model.items[at] = { ...known, ...command };
  else add(model, { type: "command/run", ...command });
}

const folds: Folds = {
  "turn/start": (model) => {
    add(model, { type: "turn/start" });
    model.inTurn = true;
    model.asked = [];
    model.claimed = [];
  },
  "turn/end": (model, { data }) => {
    if (data.reason.kind === "interrupted") keepDrafts(model);
    model.inTurn = false;
    model.inStep = false;
    dropDrafts(model);
    add(model, { type: "turn/end", reason: data.reason });
  },
  "step/start": (model) => {
    dropDrafts(model);
    add(model, { type: "step/start" });
    model.inStep = true;
  },
  "step/end": (model) => {
    model.inStep = false;
  },
  "user/message": (model, { data }) => {
    takeClaimed(model, data.id);
    add(model, { type: "user/message", content: data.content, ...pluginOf(data), ...summaryOf(data) });
  },
  "assistant/chunk": (model, { data }) => {
    foldChunk(model, data);
  },
  "assistant/message": (model, { data, seq }) => {
    dropDrafts(model);
    data.message.content.forEach((block, index) => {
      const key = blockKey(data.turn, data.step, index);
      if (block.type === "tool-call") {
        model.asked = model.asked.filter((call) => call.callId !== block.id);
        model.asked.push({ callId: block.id, name: block.name, arguments: block.arguments });
      } else if (block.type === "text" || block.type === "reasoning") {
        if (!isBlank(block.text)) add(model, { type: "assistant/message", block: block.type, text: block.text, key, seq });
      } else {
        add(model, { type: "assistant/message", block: "other", text: textOfBlock(block), key, seq });
      }
    });
    if (data.interrupted === true) add(model, { type: "assistant/interrupted" });
  },
  "tool/call": (model, { data }) => {
    takeAsked(model, data.callId);
    add(model, { type: "tool/call", callId: data.callId, name: data.name, arguments: data.arguments });
  },
  "tool/result": (model, { data }) => {
    addResults(model, data);
  },
  "llm/retry": (model, { data }) => {
    dropDrafts(model);
    const { failure, retry, maxRetries } = data;
    add(model, { type: "llm/retry", failure, retry, maxRetries });
  },
  "session/title": (model, { data }) => {
    model.title = data.title;
    add(model, { type: "session/title", title: data.title });
  },
  "session/model": (model, { data }) => {
    add(model, { type: "session/model", model: data });
  },
  "agent/inbox/spliced": (model, { data }) => {
    const removed = splice(model, data);
    if (data.outcome === "canceled") removed.forEach((message) => addSpliced(model, "dropped", message));
    else claim(model, removed);
    // A prompt to an idle session is claimed at once and shown by its turn.
    if (model.inTurn) data.inserted.forEach((message) => addSpliced(model, "queued", message));
  },
  "message/outcome": (model, { data }) => {
    const message = takeClaimed(model, data.messageId);
    const text = message ? ownText(message) : data.messageId;
    add(model, { type: "message/outcome", text, kind: data.kind, reason: data.reason });
  },
  "deliberation/started": (model, { data: { roundId, goal, branches } }) => {
    add(model, { type: "deliberation/started", roundId, ...(goal !== undefined && { goal }), branches: waitingBranches(branches), isSettled: false });
  },
  "deliberation/branch": (model, { data }) => {
    foldBranch(model, data);
  },
  "deliberation/settled": (model, { data }) => {
    settleRound(model, data);
  },
  "evidence/checked": (model, { data: { checked, failures }, seq }) => {
    add(model, { type: "evidence/checked", seq, checked, failures, states: failures.map(() => "open") });
  },
  "evidence/item": (model, { data: { seq, index, state } }) => {
    const at = model.items.findLastIndex((item) => item.type === "evidence/checked" && item.seq === seq);
    const check = model.items[at];
    if (check?.type === "evidence/checked") model.items[at] = { ...check, states: check.states.map((known, of) => (of === index ? state : known)) };
  },
  "review/claimed": (model, { data }) => {
    add(model, { type: "review/claimed", ...claimedReview(model, data) });
  },
  "review/child": (model, { data }) => {
    foldReviewChild(model, data);
  },
  "review/released": (model, { data }) => {
    releaseReview(model, data);
  },
  "review/settled": (model, { data }) => {
    settleReview(model, data);
  },
  "review/item": (model, { data }) => {
    foldReviewItem(model, data);
  },
  "session/end-seed": (model) => {
    add(model, { type: "session/end-seed" });
  },
  // These are about requests and logs; a reader of the answer needs nothing of them.
  "request/header": nothing,
  "request/context": nothing,
  "llm/request": nothing,
  "llm/retry-started": nothing,
  "subagent/descriptor": nothing,
  // What a child in the background came to is told to the agent in a message, which has a row.
  "subagent/activated": nothing,
  "subagent/settled": nothing,
};

function nothing(): void {}

function add(model: Model, item: NewItem): void {
  const depth = (Number(model.inTurn) + Number(model.inStep)) as Depth;
  model.items.push({ depth, ...item });
}

function addSpliced(model: Model, what: "dropped" | "queued", message: Message): void {
  add(model, { type: "agent/inbox/spliced", what, messageId: message.id, text: ownText(message) });
}

function addResults(model: Model, data: ToolResult): void {
  for (const block of data.message.content) {
    if (block.type !== "tool-result") continue;
    const asked = takeAsked(model, block.toolCallId);
    if (asked) add(model, { type: "tool/call", ...asked });
    const meta = data.meta as { value?: unknown } | undefined;
    add(model, {
      type: "tool/result",
      callId: block.toolCallId,
      text: textOfBlocks(block.content),
      isError: block.isError === true,
      ...(data.error && { code: data.error.code }),
      ...(meta?.value !== undefined && { value: meta.value }),
    });
    answerCall(model, block.toolCallId);
  }
}

/** Tells the newest call of that id where its result stands. */
function answerCall(model: Model, callId: string): void {
  const at = model.items.findLastIndex((item) => item.type === "tool/call" && item.callId === callId);
  const call = model.items[at];
  if (call?.type === "tool/call") model.items[at] = { ...call, result: model.items.length - 1 };
}

function takeAsked(model: Model, callId: string): Model["asked"][number] | undefined {
  const asked = model.asked.find((call) => call.callId === callId);
  if (asked) model.asked = model.asked.filter((call) => call !== asked);
  return asked;
}

/** A person who has read half an answer keeps it. */
function keepDrafts(model: Model): void {
  for (const { block, text, key } of model.drafts) {
    if (block !== "tool-call" && !isBlank(text)) add(model, { type: "assistant/chunk", block, text, key });
  }
}

function dropDrafts(model: Model): void {
  model.drafts = [];
  model.hasGap = false;
}

function pluginOf(message: Message): { plugin?: string } {
  return message.source.kind === "plugin" ? { plugin: message.source.plugin } : {};
}

/** What a plugin says in one line of its message. */
export function summaryOf({ source }: Message): { summary?: string } {
  return source.kind === "plugin" && source.summary !== undefined ? { summary: source.summary } : {};
}

/** A message's text; a plugin's says whose it is. */
function ownText(message: Message): string {
  const { plugin } = pluginOf(message);
  return plugin === undefined ? textOfMessage(message) : `${plugin}: ${textOfMessage(message)}`;
}
