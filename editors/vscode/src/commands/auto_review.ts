/** Switches automatic reviews on or off, and says what they are now. */
import * as vscode from "vscode";
import type { Chat } from "../chat.ts";
import { tellFailure, warn } from "./tell.ts";

/** How long the status bar says so, in milliseconds. */
const SHOWN_MS = 5_000;

export async function autoReview(chat: Chat): Promise<void> {
  await tellFailure(async () => {
    if (!chat.rpc) {
      warn("the server is not running. Restart it first.");
      return;
    }
    const isOn = await chat.autoReview.toggle(chat.rpc, chat.workspace());
    vscode.window.setStatusBarMessage(`dsh-ls: automatic reviews are ${isOn ? "on" : "off"}`, SHOWN_MS);
  });
}
