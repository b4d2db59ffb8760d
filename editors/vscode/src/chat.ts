/** The chat of one window: joins the conversation, the server, the view and the settings. */
import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import * as vscode from "vscode";
import type { ContentBlock, Methods, ModelId, SessionId, SessionNewParams } from "#protocol";
import { AutoReview } from "./client/auto_review.ts";
import { isCommand } from "./client/commands.ts";
import { Conversation } from "./client/conversation.ts";
import { describe, type Rpc } from "./client/rpc.ts";
import { tellFailure } from "./commands/tell.ts";
import { currentFolder, diskFolders, labelOf } from "./folders.ts";
import { type Live, toClock } from "./model/live.ts";
import { openCitation } from "./open.ts";
import { Panel } from "./panel.ts";
import { Server } from "./server.ts";
import type { Action, Attachment, ChatState, FromView, ServerState } from "./view/messages.ts";

/** Where the id of the session that a window shows is kept. */
const SESSION = "session";

/** What commands and the view act on. */
export class Chat implements vscode.Disposable {
  readonly panel: Panel;
  readonly server: Server;
  readonly conversation: Conversation;
  readonly autoReview = new AutoReview(() => this.showChat());
  /** The server that runs now. */
  rpc: Rpc | undefined;
  private state: ServerState = { kind: "starting" };
  private folder: vscode.WorkspaceFolder | undefined;
  private attachment: Attachment | undefined;
  private defaultModel: ModelId | undefined;
  private isStarted = false;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly act: (action: Action) => void,
  ) {
    this.panel = new Panel(context.extensionUri, (message) => this.take(message));
    this.conversation = new Conversation(
      {
        event: (event) => {
          this.panel.sendEvent(event);
          if (event.type === "turn/start" || event.type === "turn/end") this.tellRunning();
        },
        ran: (command) => this.panel.send({ type: "command", command }),
        lagged: () => this.panel.send({ type: "lagged" }),
        replaced: () => {
          this.tellRunning();
          this.showAll();
        },
        info: () => {
          const { info, isChild } = this.conversation;
          if (!isChild) void context.workspaceState.update(SESSION, info?.sessionId);
          this.showChat();
        },
        live: () => this.panel.send({ type: "live", live: this.liveNow() }),
      },
      randomUUID,
    );
    this.server = new Server({
      state: (state) => this.serverState(state),
      connected: (rpc) => void this.connected(rpc),
      disconnected: () => {
        this.rpc = undefined;
        this.conversation.disconnect();
      },
      notification: (notification) => {
        if (notification.method === "config/changed") void this.readAutoReview();
        else this.conversation.receive(notification);
      },
    });
  }

  async dispose(): Promise<void> {
    await this.server.dispose();
  }

  /** Starts the server the first time that something needs it. */
  start(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    const saved = this.context.workspaceState.get<SessionId>(SESSION);
    if (saved !== undefined) void this.conversation.open(saved);
    void this.server.start();
  }

  /** Leaves the session; the next question begins another, in `folder`. */
  async newSession(folder: vscode.WorkspaceFolder | undefined): Promise<void> {
    this.folder = folder;
    const left = this.conversation.leave();
    await this.context.workspaceState.update(SESSION, undefined);
    await left;
  }

  /** Names what the next question is about. */
  attach(attachment: Attachment | undefined): void {
    this.attachment = attachment;
    this.showChat();
  }

  /** The folder of the session, else the one that the next session will be about. */
  folderPath(): string | undefined {
    const { info } = this.conversation;
    if (info) return vscode.Uri.parse(info.workspace, true).fsPath;
    return this.nextFolder()?.uri.fsPath;
  }

  /** The folder that the next session will be about, as the server names it. */
  workspace(): string | undefined {
    return this.nextFolder()?.uri.toString();
  }

  /** The person's own choice of a model for new sessions, if there is one. */
  chosenModel(): string | undefined {
    return vscode.workspace.getConfiguration("dsh-ls").get("model", "").trim() || undefined;
  }

  /** A folder was closed or opened: a session whose folder is closed cannot go on. */
  async foldersChanged(closed: readonly vscode.WorkspaceFolder[]): Promise<void> {
    const shown = this.conversation.info && this.folderPath();
    if (shown !== undefined && closed.some(({ uri }) => uri.fsPath === shown)) await this.newSession(undefined);
    else this.showChat();
  }

  /** Brings the view up to date after settings have changed. */
  showChat(): void {
    this.panel.send({ type: "chat", chat: this.chatState() });
  }

  private nextFolder(): vscode.WorkspaceFolder | undefined {
    const isOpen = this.folder && diskFolders().some(({ uri }) => uri.toString() === this.folder?.uri.toString());
    return isOpen ? this.folder : currentFolder();
  }

  private take(message: FromView): void {
    switch (message.type) {
      case "ready":
        this.start();
        this.showAll();
        return;
      case "prompt":
        void (isCommand(message.text) ? this.run(message.text) : this.prompt(message.text));
        return;
      case "cancel":
        this.act("cancel");
        return;
      case "detach":
        this.attach(undefined);
        return;
      case "open": {
        const folder = this.folderPath();
        if (folder !== undefined) void openCitation(folder, message.citation);
        return;
      }
      case "look":
        void tellFailure(() => this.conversation.look(message.sessionId));
        return;
      case "back":
        void tellFailure(() => this.conversation.back());
        return;
      case "cancelRound": {
        const { roundId, label } = message;
        void this.ask("deliberate/cancel", { roundId, ...(label !== undefined && { label }) });
        return;
      }
      case "cancelReview":
        void this.ask("session/cancel", { sessionId: message.childSessionId });
        return;
      case "setItem": {
        const { reviewId, index, state } = message;
        void this.ask("review/setItem", { reviewId, index, state });
        return;
      }
      case "act":
        this.act(message.action);
    }
  }

  /** Asks the server for something whose effect comes with events. */
  private async ask<Name extends keyof Methods>(method: Name, params: Methods[Name]["params"]): Promise<void> {
    await tellFailure(async () => {
      await this.rpc?.request(method, params);
    });
  }

  private async prompt(text: string): Promise<void> {
    const { attachment } = this;
    const content: ContentBlock[] = [{ type: "text", text }];
    if (attachment) content.push(resource(attachment));
    this.attachment = undefined;
    this.showChat();
    try {
      await this.conversation.home();
      await this.conversation.prompt(content, this.fresh());
    } catch (error) {
      this.attachment ??= attachment;
      this.showChat();
      this.panel.send({ type: "refused", text, reason: describe(error) });
    }
  }

  private async run(line: string): Promise<void> {
    try {
      await this.conversation.home();
      await this.conversation.run(line, this.workspace());
    } catch (error) {
      this.panel.send({ type: "refused", text: line, reason: describe(error) });
    }
  }

  private fresh(): SessionNewParams {
    const workspace = this.workspace();
    const model = this.chosenModel();
    return { ...(workspace !== undefined && { workspace }), ...(model !== undefined && { model }) };
  }

  private async connected(rpc: Rpc): Promise<void> {
    this.rpc = rpc;
    const refuse = (error: unknown): void => this.panel.send({ type: "refused", text: "", reason: describe(error) });
    await this.conversation.connect(rpc).catch(refuse);
    await this.readDefaultModel(rpc).catch(refuse);
    await this.readAutoReview();
  }

  /** A value that is not known is not shown: a server that cannot tell it says nothing else of it either. */
  private async readAutoReview(): Promise<void> {
    if (this.rpc) await this.autoReview.read(this.rpc, this.workspace()).catch(() => undefined);
  }

  private async readDefaultModel(rpc: Rpc): Promise<void> {
    const workspace = this.workspace();
    if (workspace === undefined) return;
    const { models } = await rpc.request("model/list", { workspace });
    this.defaultModel = models.find((model) => model.default);
    this.showChat();
  }

  private serverState(state: ServerState): void {
    this.state = state;
    this.conversation.expectNone(state.kind === "failed" ? new Error(state.message) : undefined);
    this.showChat();
  }

  private showAll(): void {
    const { model, generation } = this.conversation;
    this.panel.send({ type: "show", model, generation, chat: this.chatState(), live: this.liveNow() });
  }

  /** What runs, with times that count from when they are sent: the view has a clock of its own. */
  private liveNow(): Live {
    return toClock(this.conversation.liveHere, Date.now(), 0);
  }

  private tellRunning(): void {
    void vscode.commands.executeCommand("setContext", "dsh-ls.running", this.conversation.model.inTurn && !this.conversation.isChild);
  }

  private chatState(): ChatState {
    const path = this.folderPath();
    const folders = diskFolders();
    const open = folders.find(({ uri }) => uri.fsPath === path);
    const folder = open ? labelOf(open) : path && basename(path);
    const { modelId, isChild, info } = this.conversation;
    const next = this.chosenModel() ?? (this.defaultModel && nameOf(this.defaultModel));
    const name = modelId ? nameOf(modelId) : next;
    return {
      server: this.state,
      ...(folder !== undefined && { folder, hasOtherFolders: folders.length > 1 }),
      ...(name !== undefined && { model: { name, isOffline: name.startsWith("offline/") } }),
      ...(this.autoReview.isOn !== undefined && { isAutoReview: this.autoReview.isOn }),
      ...(isChild && { child: { title: info?.title ?? "" } }),
      ...(this.attachment && { attachment: this.attachment }),
    };
  }
}

/** A model as a person names it. */
export function nameOf({ provider, model }: ModelId): string {
  return `${provider}/${model}`;
}

function resource({ uri, startLine, endLine }: Attachment): ContentBlock {
  const range = startLine !== undefined && endLine !== undefined ? { range: { startLine, endLine } } : {};
  return { type: "resource", uri, ...range };
}
