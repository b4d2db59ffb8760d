/** Starts the chat in a webview of VS Code. */
import { startChat } from "./app.ts";
import type { FromView, ToView } from "./messages.ts";

declare function acquireVsCodeApi(): {
  postMessage(message: FromView): void;
  getState(): unknown;
  setState(state: unknown): void;
};

const api = acquireVsCodeApi();
startChat(document.body, {
  send: (message) => api.postMessage(message),
  onMessage: (take) => window.addEventListener("message", ({ data }: MessageEvent<ToView>) => take(data)),
  load: () => api.getState(),
  save: (state) => api.setState(state),
});
