/** What a transcript is made of: plain data, so that it can cross to a webview. One item for each thing shown. */
import type { CommandRunResult, ContentBlock, EvidenceFailure, InboxTarget, Message, ModelFailure, ModelId, ReviewItemState, TurnEnd } from "#protocol";
import type { Review } from "./reviews.ts";
import type { Branch } from "./rounds.ts";

/** How deep an item stands: 0 outside a turn, 1 in a turn, 2 in a step. */
export type Depth = 0 | 1 | 2;

/** One thing that is shown, named after the event that made it. Items are never changed, only replaced. */
export type Item = { depth: Depth } & (
  | { type: "surface/replace"; start: number; end: number }
  | { type: "turn/start" }
  | { type: "turn/end"; reason: TurnEnd }
  | { type: "step/start" }
  /** `summary` says in one line what a plugin's message is. */
  | { type: "user/message"; content: ContentBlock[]; plugin?: string; summary?: string }
  /** One block of an answer. `key` names it from its first chunk on; `seq` is that of the whole answer, a draft while a review of it runs. */
  | { type: "assistant/message"; block: AnswerBlock; text: string; key: string; seq: number; isDraft?: true }
  | { type: "assistant/interrupted" }
  /** What the log has of an answer whose server died. It was never committed, so it is no part of the printed text. */
  | { type: "assistant/chunk"; block: AnswerBlock; text: string; key: string }
  /** `result` is the place of its result among the items, once there is one. */
  | { type: "tool/call"; callId: string; name: string; arguments: string; result?: number }
  | { type: "tool/result"; callId: string; text: string; isError: boolean; code?: string; value?: unknown }
  | { type: "llm/retry"; failure: ModelFailure; retry: number; maxRetries: number }
  | { type: "session/title"; title: string }
  | { type: "session/model"; model: ModelId }
  | { type: "agent/inbox/spliced"; what: "dropped" | "queued"; messageId: string; text: string }
  | { type: "message/outcome"; text: string; kind: string; reason: string }
  /** A whole round, from its beginning to what came of it. */
  | { type: "deliberation/started"; roundId: string; goal?: string; branches: Branch[]; isSettled: boolean }
  /** `seq` names the check; `states` say where its failures stand with the person who reads them. */
  | { type: "evidence/checked"; seq: number; checked: number; failures: EvidenceFailure[]; states: ReviewItemState[] }
  /** A whole review, from its claim to what a person said of its findings. */
  | ({ type: "review/claimed" } & Review)
  /** What stands above was inherited from another session. */
  | { type: "session/end-seed" }
  /** No event: what a person typed here is in no log. */
  | ({ type: "command/run" } & TypedCommand)
);

/** A command that a person typed. */
export interface TypedCommand {
  id: string;
  /** What was typed, from the slash on. */
  line: string;
  /** What came of it, once it is done. */
  result?: CommandRunResult;
}

/** What a block of an answer holds; `other` stands for what is shown as a word in brackets. */
export type AnswerBlock = "text" | "reasoning" | "other";

/** A block of the answer that is being written. */
export interface Draft {
  index: number;
  block: AnswerBlock | "tool-call";
  /** The text, or a call's arguments as far as they are known. */
  text: string;
  /** A call's tool. */
  name?: string;
  key: string;
}

/** A session as far as its events have been folded. */
export interface Model {
  /** Seq of the last event, −1 before the first. */
  lastSeq: number;
  /** Seq of the last event that is no chunk: a server that dies may take chunks with it that it had sent already. */
  settledSeq: number;
  inTurn: boolean;
  inStep: boolean;
  items: Item[];
  /** The answer that is being written; its message takes its place. */
  drafts: Draft[];
  /** Chunks of the answer were left out because this client read too slowly. */
  hasGap: boolean;
  title?: string;
  /** The messages that wait. */
  queue: Record<InboxTarget, Message[]>;
  /** Taken by the turn that runs, and not shown yet. */
  claimed: Message[];
  /** Calls that the model asked for and that nothing has announced yet. */
  asked: { callId: string; name: string; arguments: string }[];
}

/** A session without events. */
export function emptyModel(): Model {
  return {
    lastSeq: -1,
    settledSeq: -1,
    inTurn: false,
    inStep: false,
    items: [],
    drafts: [],
    hasGap: false,
    queue: { "next-step": [], "next-turn": [] },
    claimed: [],
    asked: [],
  };
}

/** Names one block of one step's answer, written or being written. */
export function blockKey(turn: number, step: number, index: number): string {
  return `${turn}.${step}.${index}`;
}
