/** Makes the selection, or the whole file, what the next question is about. */
import { relative } from "node:path";
import * as vscode from "vscode";
import type { Chat } from "../chat.ts";
import { tellFailure } from "./tell.ts";

export async function ask(chat: Chat): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const folder = chat.folderPath();
  await tellFailure(() => chat.conversation.home());
  await chat.panel.reveal();
  if (!editor || folder === undefined) return;
  const { document, selection } = editor;
  const path = relative(folder, document.uri.fsPath);
  if (document.uri.scheme !== "file" || path.startsWith("..")) {
    void vscode.window.showWarningMessage("This file is not in the folder that the session is about. Begin a new session in its folder to ask about it.");
    return;
  }
  const uri = document.uri.toString();
  if (selection.isEmpty) {
    chat.attach({ uri, label: path });
    return;
  }
  const startLine = selection.start.line + 1;
  // A selection that ends before the first letter of a line does not take that line in.
  const endLine = Math.max(startLine, selection.end.character === 0 ? selection.end.line : selection.end.line + 1);
  chat.attach({ uri, label: `${path}:${startLine}-${endLine}`, startLine, endLine });
}
