/** Which of the open folders is asked about. */
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
  const items = sorted.map((folder) => ({ label: folder.name, description: folder.uri.fsPath, folder }));
  const picked = await vscode.window.showQuickPick(items, { placeHolder: "The folder that the new session is about" });
  return picked?.folder;
}

/** The open folders on disk; the server reads no others. */
export function diskFolders(): vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
}
