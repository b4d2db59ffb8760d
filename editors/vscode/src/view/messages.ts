/** What the view and its host say to each other. The host may be an editor, or a page that holds a connection itself. */
import type { Event, ReviewItemState } from "#protocol";
import type { Model, TypedCommand } from "../model/items.ts";
import type { Live } from "../model/live.ts";

/** What the view shows beside the transcript. */
export interface ChatState {
  server: ServerState;
  /** The folder that is asked about; absent when none is open. */
  folder?: string;
  /** Several folders are open, and which one is asked about has to be said. */
  hasOtherFolders?: boolean;
  /** The model that the next turn asks. */
  model?: { name: string; isOffline: boolean };
  /** What the next prompt is about. */
  attachment?: Attachment;
  /** Whether answers are reviewed by themselves; absent: not known. */
  isAutoReview?: boolean;
  /** The session of a child agent is shown, to be read only. */
  child?: { title: string };
}

/** How the server is. */
export type ServerState =
  | { kind: "starting" | "running" | "restarting" }
  | { kind: "failed"; message: string; actions: Action[] };

/** Something that the host does at the press of a button. */
export type Action = "ask" | "autoReview" | "cancel" | "deliberate" | "log" | "model" | "newSession" | "openFolder" | "restart" | "review" | "sessions" | "settings";

/** Lines of a file, or a whole file. */
export interface Attachment {
  uri: string;
  label: string;
  startLine?: number;
  endLine?: number;
}

/** A place in a file, as an answer names it. */
export interface Citation {
  path: string;
  line: number;
  endLine?: number;
}

/** From the host. */
export type ToView =
  /** A model as it is now: another one, if `generation` is another. */
  | { type: "show"; model: Model; generation: number; chat: ChatState; live: Live }
  /** What runs, as it is at this moment. */
  | { type: "live"; live: Live }
  | { type: "events"; events: Event[] }
  | { type: "lagged" }
  /** A command runs, or is done. */
  | { type: "command"; command: TypedCommand }
  | { type: "chat"; chat: ChatState }
  /** A prompt or a command was not taken: its text goes back to the person. */
  | { type: "refused"; text: string; reason: string }
  | { type: "focus" };

/** To the host. */
export type FromView =
  | { type: "ready" }
  | { type: "prompt"; text: string }
  | { type: "cancel" }
  | { type: "detach" }
  | { type: "open"; citation: Citation }
  /** Shows a child agent's session, and goes back from it. */
  | { type: "look"; sessionId: string }
  | { type: "back" }
  /** Stops a round, or one branch of it. */
  | { type: "cancelRound"; roundId: string; label?: string }
  /** Stops a review: its child agent. */
  | { type: "cancelReview"; childSessionId: string }
  /** Says where a finding of a review stands. */
  | { type: "setItem"; reviewId: string; index: number; state: ReviewItemState }
  | { type: "act"; action: Action };

/** Carries both, and keeps what a person has typed, and read to, while the view is away. */
export interface Transport {
  send(message: FromView): void;
  onMessage(take: (message: ToView) => void): void;
  load(): unknown;
  save(state: unknown): void;
}
