/** Which of the open folders is asked about. */
import { basename, dirname, join } from "node:path";
import * as vscode from "vscode";

/** The folder of the file that is being edited, else the first one on disk. */
export function currentFolder(): vscode.WorkspaceFolder | undefined {
  const edited = vscode.window.activeTextEditor?.document.uri;
  const folder = edited && vscode.workspace.getWorkspaceFolder(edited);
  return folder?.uri.scheme === "file" ? folder : diskFolders()[0];
}

/** Lets the person choose when several folders are open. */
export async function chooseFolder(): Promise<vscode.WorkspaceFolder | undefined> {
  const folders = diskFolders();
  if (folders.length < 2) return folders[0];
  const current = currentFolder();
  const sorted = [...folders].sort((a, b) => Number(b === current) - Number(a === current));
  const items = sorted.map((folder) => ({ label: labelOf(folder), description: folder.uri.fsPath, folder }));
  const picked = await vscode.window.showQuickPick(items, { placeHolder: "The folder that the new session is about" });
  return picked?.folder;
}

/** A folder's name, with that of the folder around it where two have the same. */
export function labelOf({ name, uri }: vscode.WorkspaceFolder): string {
  const isAlone = diskFolders().filter((folder) => folder.name === name).length === 1;
  return isAlone ? name : join(basename(dirname(uri.fsPath)), name);
}

/** The open folders on disk; the server reads no others. */
export function diskFolders(): vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
}
