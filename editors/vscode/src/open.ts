/** Opens the place that an answer cites. */
import * as vscode from "vscode";
import { locate } from "./places.ts";
import type { Citation } from "./view/messages.ts";

/** Shows the cited lines in an editor. */
export async function openCitation(folder: string, { path, line, endLine }: Citation): Promise<void> {
  const found = await locate(folder, path);
  if ("problem" in found) {
    void vscode.window.showWarningMessage(found.problem);
    return;
  }
  const uri = vscode.Uri.file(found.file);
  let document: vscode.TextDocument;
  try {
    document = await vscode.workspace.openTextDocument(uri);
  } catch {
    // What is no text, or too long for an editor of text, is left to the editor to show.
    await vscode.commands.executeCommand("vscode.open", uri);
    return;
  }
  const last = document.lineCount - 1;
  const start = new vscode.Position(Math.min(line - 1, last), 0);
  const end = endLine === undefined ? start : document.lineAt(Math.min(Math.max(line, endLine) - 1, last)).range.end;
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(start, end), preview: true });
  if (line - 1 > last) void vscode.window.setStatusBarMessage(`${path} has ${document.lineCount} lines only`, 5000);
}
