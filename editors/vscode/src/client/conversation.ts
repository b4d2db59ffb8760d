/**
 * One session as a client follows it, over one server after the other.
 *
 * A server may die at any moment. The next one is asked for what comes after the last event that is surely in the log, so
 * nothing is lost or doubled; a prompt whose answer was lost is sent again under its own name, which adds nothing if it had arrived.
 */
import type { ContentBlock, Event, ModelId, SessionId, SessionInfo, SessionNewParams } from "#protocol";
import { apply, noteLag, rewind } from "../model/apply.ts";
import { emptyModel, type Model } from "../model/items.ts";
import { ConnectionLost, failureKind, type Notification, type Rpc } from "./rpc.ts";

/** What is told of a conversation while it changes. */
export interface Listener {
  /** An event was folded. */
  event(event: Event): void;
  /** Chunks were left out. */
  lagged(): void;
  /** The model is another one, or went back. */
  replaced(): void;
  /** The session's summary changed. */
  info(): void;
}

/** The session that is shown, and how it is asked. */
export class Conversation {
  model: Model = emptyModel();
  info: SessionInfo | undefined;
  private rpc: Rpc | undefined;
  private sessionId: SessionId | undefined;
  private waiting: { go(): void; fail(error: Error): void }[] = [];
  /** Why no server will come by itself, when none will. */
  private hopeless: Error | undefined;
  private lastPrompt: Promise<void> = Promise.resolve();

  constructor(
    private readonly listener: Listener,
    private readonly newClientMessageId: () => string,
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
  }

  /** With a reason no server will come by itself, and what waits for one fails; without, one may come. */
  expectNone(reason: Error | undefined): void {
    this.hopeless = reason;
    if (reason) this.waiting.splice(0).forEach(({ fail }) => fail(reason));
  }

  /** Leaves the session; the next prompt begins another. */
  async leave(): Promise<void> {
    const left = this.sessionId;
    this.show(undefined);
    if (left !== undefined) await this.rpc?.request("session/unsubscribe", { sessionId: left });
  }

  /** Shows a session that exists. Without a server it is asked for when one comes. */
  async open(sessionId: SessionId): Promise<void> {
    if (sessionId === this.sessionId) return;
    await this.leave();
    this.show(sessionId);
    if (this.rpc) await this.subscribe(this.rpc, sessionId);
  }

  /** Sends a prompt after those before it; begins a session with `fresh` if none is shown. */
  async prompt(content: ContentBlock[], fresh: SessionNewParams): Promise<void> {
    const sent = this.lastPrompt.then(() => this.send(content, fresh));
    this.lastPrompt = sent.catch(() => undefined);
    await sent;
  }

  /** Asks for the running turn to stop and for what waits to be dropped. */
  async cancel(): Promise<void> {
    if (this.sessionId !== undefined) await this.rpc?.request("session/cancel", { sessionId: this.sessionId });
  }

  /** Takes what a server sent unasked. */
  receive(notification: Notification): void {
    const { method, params } = notification;
    if (method === "session/changed") {
      if ("session" in params && params.session.sessionId === this.sessionId) this.setInfo(params.session);
      return;
    }
    if (params.sessionId !== this.sessionId) return;
    if (method === "session/event") {
      if (params.event.seq <= this.model.lastSeq) return;
      apply(this.model, params.event);
      this.listener.event(params.event);
    } else if (method === "session/lagged") {
      noteLag(this.model);
      this.listener.lagged();
    }
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

  private async subscribe(rpc: Rpc, sessionId: SessionId): Promise<void> {
    try {
      rewind(this.model);
      this.listener.replaced();
      this.setInfo((await rpc.request("session/get", { sessionId })).session);
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

  private show(sessionId: SessionId | undefined): void {
    this.sessionId = sessionId;
    this.info = undefined;
    this.model = emptyModel();
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
