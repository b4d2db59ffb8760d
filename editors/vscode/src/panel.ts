/** The webview in the side bar: its page, and the messages that go in and out. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Event } from "#protocol";
import type { FromView, ToView } from "./view/messages.ts";

/** Events that come within this time cross to the webview together. */
const BATCH_MS = 25;

/** The view of the chat, there or not. */
export class Panel implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private isReady = false;
  private wantsFocus = false;
  private batch: Event[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly take: (message: FromView) => void,
  ) {}

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.isReady = false;
    const media = vscode.Uri.joinPath(this.extension, "media");
    const dist = vscode.Uri.joinPath(this.extension, "dist");
    view.webview.options = { enableScripts: true, localResourceRoots: [media, dist] };
    view.webview.onDidReceiveMessage((message: FromView) => {
      if (message.type === "ready") this.isReady = true;
      this.take(message);
      if (message.type === "ready" && this.wantsFocus) this.focus();
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.isReady = false;
    });
    view.webview.html = page(view.webview, vscode.Uri.joinPath(media, "chat.css"), vscode.Uri.joinPath(dist, "view.js"));
  }

  /** Shows the view and puts the cursor where a person types. */
  async reveal(): Promise<void> {
    this.wantsFocus = true;
    await vscode.commands.executeCommand("dsh-ls.view.focus");
    if (this.isReady) this.focus();
  }

  /** Sends a message, if there is a view. What came before it is sent before it; a `show` holds all that came before. */
  send(message: ToView): void {
    if (message.type === "show") this.batch = [];
    else this.flush();
    if (this.isReady) void this.view?.webview.postMessage(message);
  }

  /** Sends an event soon, with its neighbours. */
  sendEvent(event: Event): void {
    if (!this.isReady) return;
    this.batch.push(event);
    this.timer ??= setTimeout(() => this.flush(), BATCH_MS);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const events = this.batch;
    this.batch = [];
    if (events.length > 0 && this.isReady) void this.view?.webview.postMessage({ type: "events", events } satisfies ToView);
  }

  private focus(): void {
    this.wantsFocus = false;
    this.view?.show(false);
    this.send({ type: "focus" });
  }
}

function page(webview: vscode.Webview, style: vscode.Uri, script: vscode.Uri): string {
  const nonce = randomBytes(16).toString("hex");
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${webview.asWebviewUri(style).toString()}">
<title>dsh-ls</title>
</head>
<body><script nonce="${nonce}" src="${webview.asWebviewUri(script).toString()}"></script></body>
</html>`;
}
