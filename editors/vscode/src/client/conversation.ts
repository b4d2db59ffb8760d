/**
 * One session as a client follows it, over one server after the other.
 *
 * A server may die at any moment. The next one is asked for what comes after the last event that is surely in the log, so
 * nothing is lost or doubled; a prompt whose answer was lost is sent again under its own name, which adds nothing if it had arrived.
 */
import type { ContentBlock, Event, ModelId, SessionId, SessionInfo, SessionNewParams } from "#protocol";
import { apply, noteCommand, noteLag, rewind } from "../model/apply.ts";
import { emptyModel, type Model, type TypedCommand } from "../model/items.ts";
import { emptyLive, endChild, endRound, type Live, noteBranch, noteChild, noteReview, noteRound } from "../model/live.ts";
import { checkCommand } from "./commands.ts";
import { ConnectionLost, describe, failureKind, type Notification, type Rpc } from "./rpc.ts";

/** What is told of a conversation while it changes. */
export interface Listener {
  /** An event was folded. */
  event(event: Event): void;
  /** A command runs in the session, or is done. */
  ran(command: TypedCommand): void;
  /** Chunks were left out. */
  lagged(): void;
  /** The model is another one, or went back. */
  replaced(): void;
  /** The session's summary changed. */
  info(): void;
  /** What runs beside the log changed. */
  live(): void;
}

/** A session that was shown before the one that it began. */
interface Behind {
  sessionId: SessionId;
  model: Model;
  info: SessionInfo | undefined;
}

/** The session that is shown, and how it is asked. */
export class Conversation {
  model: Model = emptyModel();
  info: SessionInfo | undefined;
  /** Another number with each other model: what was made of the last one is of no use then. */
  generation = 0;
  /** What runs now, in any session of the server. */
  live: Live = emptyLive();
  private rpc: Rpc | undefined;
  private sessionId: SessionId | undefined;
  private waiting: { go(): void; fail(error: Error): void }[] = [];
  /** Why no server will come by itself, when none will. */
  private hopeless: Error | undefined;
  private lastPrompt: Promise<void> = Promise.resolve();
  /** The way back from a child's session, the last step last. */
  private behind: Behind[] = [];
  /** What comes of the session is new, not read from its log. */
  private isCaughtUp = false;

  constructor(
    private readonly listener: Listener,
    private readonly newClientMessageId: () => string,
    private readonly now: () => number = Date.now,
  ) {}

  /** A server is there: goes on where the last one stopped. */
  async connect(rpc: Rpc): Promise<void> {
    this.rpc = rpc;
    try {
      if (this.sessionId !== undefined) await this.subscribe(rpc, this.sessionId);
    } finally {
      this.waiting.splice(0).forEach(({ go }) => go());
    }
  }

  /** The server is gone; another may come. */
  disconnect(): void {
    this.rpc = undefined;
    this.live = emptyLive();
    this.listener.live();
  }

  /** With a reason no server will come by itself, and what waits for one fails; without, one may come. */
  expectNone(reason: Error | undefined): void {
    this.hopeless = reason;
    if (reason) this.waiting.splice(0).forEach(({ fail }) => fail(reason));
  }

  /** Leaves the session; the next prompt begins another. */
  async leave(): Promise<void> {
    const left = this.sessionId;
    this.behind = [];
    this.show(undefined);
    if (left !== undefined) await this.rpc?.request("session/unsubscribe", { sessionId: left });
  }

  /** Shows a session that exists. Without a server it is asked for when one comes. */
  async open(sessionId: SessionId): Promise<void> {
    if (sessionId === this.sessionId) return;
    this.behind = [];
    await this.change(sessionId);
  }

  /** Shows the session of a child agent, to be read only. */
  async look(sessionId: SessionId): Promise<void> {
    if (this.sessionId === undefined || sessionId === this.sessionId) return;
    this.behind.push({ sessionId: this.sessionId, model: this.model, info: this.info });
    try {
      await this.change(sessionId);
    } catch (error) {
      if (this.sessionId === undefined) await this.back();
      throw error;
    }
  }

  /** Whether a child agent's session is shown. Only the agent that started it asks it anything. */
  get isChild(): boolean {
    return this.behind.length > 0;
  }

  /** Goes from a child's session to the one that began it. */
  async back(): Promise<void> {
    const way = this.behind.pop();
    if (way) await this.change(way.sessionId, way.model, way.info);
  }

  /** Goes back to the session that a person began. */
  async home(): Promise<void> {
    this.behind = this.behind.slice(0, 1);
    await this.back();
  }

  /** Sends a prompt after those before it; begins a session with `fresh` if none is shown. */
  async prompt(content: ContentBlock[], fresh: SessionNewParams): Promise<void> {
    const sent = this.lastPrompt.then(() => this.send(content, fresh));
    this.lastPrompt = sent.catch(() => undefined);
    await sent;
  }

  /** Runs a command that a person typed; what it says joins the model. One that is not offered in `workspace` is refused. */
  async run(line: string, workspace: string | undefined): Promise<void> {
    const rpc = this.rpc ?? (await this.nextServer());
    await checkCommand(rpc, line, this.info?.workspace ?? workspace);
    const { sessionId, model } = this;
    if (sessionId === undefined) throw new Error("There is no session yet that a command could be about. Ask a question first.");
    const note = (command: TypedCommand): void => {
      noteCommand(model, command);
      if (this.model === model) this.listener.ran(command);
    };
    const id = this.newClientMessageId();
    note({ id, line });
    const result = await rpc.request("command/run", { sessionId, line }).catch((error: unknown) => ({ ok: false, text: describe(error) }));
    note({ id, line, result });
  }

  /** Asks for the running turn, that of the session that a person began, to stop and for what waits to be dropped. */
  async cancel(): Promise<void> {
    const sessionId = this.behind[0]?.sessionId ?? this.sessionId;
    if (sessionId !== undefined) await this.rpc?.request("session/cancel", { sessionId });
  }

  /** Takes what a server sent unasked. */
  receive(notification: Exclude<Notification, { method: "config/changed" }>): void {
    switch (notification.method) {
      case "session/changed": {
        const { params } = notification;
        if ("session" in params && params.session.sessionId === this.sessionId) this.setInfo(params.session);
        return;
      }
      case "session/event":
        if (notification.params.sessionId === this.sessionId) this.fold(notification.params.event);
        return;
      case "session/lagged":
        if (notification.params.sessionId !== this.sessionId) return;
        noteLag(this.model);
        this.listener.lagged();
        return;
      case "session/caughtUp":
        if (notification.params.sessionId !== this.sessionId) return;
        this.isCaughtUp = true;
        break;
      case "deliberate/branch":
        noteBranch(this.live, notification.params, this.now());
        break;
      case "deliberate/result":
        endRound(this.live, notification.params.roundId);
        break;
      case "subagent/started":
        noteChild(this.live, notification.params);
        break;
      case "subagent/finished":
        endChild(this.live, notification.params);
        break;
    }
    this.listener.live();
  }

  /** What runs now, with the subagents of the session that is shown only. */
  get liveHere(): Live {
    return { ...this.live, children: this.live.children.filter(({ parentSessionId }) => parentSessionId === this.sessionId) };
  }

  /** The model that the session's turns ask. */
  get modelId(): ModelId | undefined {
    return this.info?.model;
  }

  private async send(content: ContentBlock[], fresh: SessionNewParams): Promise<void> {
    const clientMessageId = this.newClientMessageId();
    for (;;) {
      const rpc = this.rpc ?? (await this.nextServer());
      try {
        const sessionId = this.sessionId ?? (await this.begin(rpc, fresh));
        await rpc.request("session/prompt", { sessionId, content, clientMessageId });
        return;
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        if (this.rpc === rpc) this.rpc = undefined;
      }
    }
  }

  private async begin(rpc: Rpc, fresh: SessionNewParams): Promise<SessionId> {
    const { session } = await rpc.request("session/new", fresh);
    this.show(session.sessionId);
    this.setInfo(session);
    await rpc.request("session/subscribe", { sessionId: session.sessionId, after: -1 });
    return session.sessionId;
  }

  private fold(event: Event): void {
    if (event.seq <= this.model.lastSeq) return;
    apply(this.model, event);
    // A review that the log leaves open may run in another process; a round runs where this client looks on.
    const isOver = noteReview(this.live, event) && event.type !== "review/claimed";
    if (event.type === "deliberation/started" && this.isCaughtUp) noteRound(this.live, event.data.roundId);
    const begins = event.type === "deliberation/started" || event.type === "review/claimed";
    // Nothing is shown as not running in between.
    if (begins && this.isCaughtUp) this.listener.live();
    this.listener.event(event);
    if (isOver && this.isCaughtUp) this.listener.live();
  }

  /** Shows another session in place of the one that is shown. */
  private async change(sessionId: SessionId, model = emptyModel(), info?: SessionInfo): Promise<void> {
    const left = this.sessionId;
    this.show(sessionId, model, info);
    if (left !== undefined) await this.rpc?.request("session/unsubscribe", { sessionId: left });
    if (this.rpc && this.sessionId === sessionId) await this.subscribe(this.rpc, sessionId);
  }

  private async subscribe(rpc: Rpc, sessionId: SessionId): Promise<void> {
    try {
      rewind(this.model);
      this.isCaughtUp = false;
      this.listener.replaced();
      const { session } = await rpc.request("session/get", { sessionId });
      // Meanwhile another one may have been asked for.
      if (this.sessionId !== sessionId) return;
      this.setInfo(session);
      await rpc.request("session/subscribe", { sessionId, after: this.model.lastSeq });
    } catch (error) {
      if (error instanceof ConnectionLost) return;
      const kind = failureKind(error);
      if (kind === "cursorInvalid") {
        // The log is shorter than what was seen: it lost its tail with the machine. The log is right.
        this.show(sessionId);
        await rpc.request("session/subscribe", { sessionId, after: -1 });
      } else {
        if (kind === "sessionNotFound") this.show(undefined);
        throw error;
      }
    }
  }

  private show(sessionId: SessionId | undefined, model = emptyModel(), info?: SessionInfo): void {
    this.sessionId = sessionId;
    this.info = info;
    this.model = model;
    this.generation += 1;
    this.isCaughtUp = false;
    this.listener.replaced();
  }

  private setInfo(info: SessionInfo): void {
    this.info = info;
    this.listener.info();
  }

  private async nextServer(): Promise<Rpc> {
    while (!this.rpc) {
      if (this.hopeless) throw this.hopeless;
      await new Promise<void>((go, fail) => this.waiting.push({ go, fail }));
    }
    return this.rpc;
  }
}
