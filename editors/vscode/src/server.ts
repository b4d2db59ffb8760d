/** The server's process: starts it, starts it again when it dies, and says how it is. */
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient, type LanguageClientOptions, RevealOutputChannelOn, State } from "vscode-languageclient/node";
import { PROTOCOL_VERSION, type DshCapabilities } from "#protocol";
import { ConnectionLost, HEARD, type Notification, type Rpc } from "./client/rpc.ts";
import { findServer, type Machine } from "./find.ts";
import { Restarts } from "./restarts.ts";
import type { Action, ServerState } from "./view/messages.ts";

/** What is told of the server. */
export interface ServerListener {
  state(state: ServerState): void;
  connected(rpc: Rpc): void;
  disconnected(): void;
  notification(notification: Notification): void;
}

/** One server at a time, over and over. */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private output: vscode.LogOutputChannel | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isDisposed = false;
  private readonly restarts = new Restarts();

  constructor(private readonly listener: ServerListener) {}

  /** Starts the server because a person wants it: earlier failures no longer count. */
  async start(): Promise<void> {
    this.restarts.forget();
    await this.stop();
    await this.launch();
  }

  showLog(): void {
    this.log().show();
  }

  async dispose(): Promise<void> {
    this.isDisposed = true;
    await this.stop();
    this.output?.dispose();
  }

  private log(): vscode.LogOutputChannel {
    this.output ??= vscode.window.createOutputChannel("dsh-ls", { log: true });
    return this.output;
  }

  private async stop(): Promise<void> {
    clearTimeout(this.timer);
    const { client } = this;
    this.client = undefined;
    if (!client) return;
    this.listener.disconnected();
    // A server that does not answer is killed by the client; that it did not answer is in its log.
    await client.dispose().catch(() => undefined);
  }

  private async launch(): Promise<void> {
    const found = findServer(vscode.workspace.getConfiguration("dsh-ls").get("server.path", ""), machine());
    if ("problem" in found) {
      this.fail(found.problem, ["settings", "restart"]);
      return;
    }
    this.listener.state({ kind: "starting" });
    const run = { command: found.path, args: ["lsp"] };
    const client = new QuietClient("dsh-ls", "dsh-ls", { run, debug: run }, this.options());
    this.client = client;
    for (const method of HEARD) {
      client.onNotification(method, (params) => {
        if (this.client === client) this.listener.notification({ method, params } as Notification);
      });
    }
    let isUp = false;
    client.onDidChangeState(({ newState }) => {
      if (this.client === client && isUp && newState === State.Stopped) this.ended();
    });
    try {
      await client.start();
      isUp = true;
    } catch (error) {
      if (this.client !== client) return;
      this.log().error(`the server at ${found.path} did not start: ${String(error)}`);
      this.ended();
      return;
    }
    if (this.client !== client) return;
    const problem = versionProblem(client);
    if (problem) {
      this.fail(problem, ["settings", "log"]);
      return;
    }
    this.listener.state({ kind: "running" });
    this.listener.connected(rpcOf(client, () => this.client === client && client.isRunning()));
  }

  private ended(): void {
    const ended = this.client;
    this.client = undefined;
    if (ended) void ended.dispose().catch(() => undefined);
    if (this.isDisposed) return;
    this.listener.disconnected();
    const pause = this.restarts.next(Date.now());
    if (pause === undefined) {
      this.fail("The server keeps ending and is not started again. Its log says why.", ["log", "restart", "settings"]);
      return;
    }
    this.log().warn(`the server ended and is started again in ${pause} ms`);
    this.listener.state({ kind: "restarting" });
    this.timer = setTimeout(() => void this.launch(), pause);
  }

  private fail(message: string, actions: Action[]): void {
    this.listener.state({ kind: "failed", message, actions });
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: "file" }],
      outputChannel: this.log(),
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: { protocolVersions: [PROTOCOL_VERSION] },
      initializationFailedHandler: () => false,
      // Whether and when the next server starts is decided above, for starts that fail as well.
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
    };
  }
}

/** Writes into the log what the library would put on the screen: the chat says what is wrong and what to do. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

function rpcOf(client: LanguageClient, isAlive: () => boolean): Rpc {
  return {
    methods: new Set(capabilities(client)?.methods),
    request: async (method, params) => {
      if (!isAlive()) throw new ConnectionLost();
      try {
        return await client.sendRequest(method, params);
      } catch (error) {
        // An answer of the server has a number that is not one of the client library's own.
        const code = (error as { code?: unknown }).code;
        const isAnswer = typeof code === "number" && !(code <= -32096 && code >= -32099);
        throw isAnswer ? error : new ConnectionLost();
      }
    },
  };
}

function capabilities(client: LanguageClient): DshCapabilities | undefined {
  const experimental = client.initializeResult?.capabilities.experimental as { dsh?: DshCapabilities } | undefined;
  return experimental?.dsh;
}

function versionProblem(client: LanguageClient): string | undefined {
  const version = capabilities(client)?.protocolVersion;
  const [ours] = PROTOCOL_VERSION.split(".");
  if (version?.split(".")[0] === ours) return undefined;
  return `The server speaks version ${version ?? "unknown"} of the protocol and this extension ${PROTOCOL_VERSION}. Install versions that belong together.`;
}

function machine(): Machine {
  return {
    path: process.env["PATH"] ?? "",
    home: homedir(),
    isWindows: process.platform === "win32",
    canRun: (file) => {
      try {
        accessSync(file, constants.X_OK);
        return statSync(file).isFile();
      } catch {
        return false;
      }
    },
  };
}
