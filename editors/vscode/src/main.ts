/** Starts the extension. */
import * as vscode from "vscode";
import { Chat } from "./chat.ts";
import { COMMANDS, type Command } from "./commands/index.ts";
import type { Action } from "./view/messages.ts";

/** What the view's buttons do that are no commands of ours. */
const OTHER_ACTIONS = {
  log: (chat) => chat.server.showLog(),
  openFolder: () => void vscode.commands.executeCommand("workbench.action.files.openFolder"),
  settings: () => void vscode.commands.executeCommand("workbench.action.openSettings", "dsh-ls.server.path"),
} satisfies Partial<Record<Action, Command>>;

export function activate(context: vscode.ExtensionContext): void {
  const actions: Record<Action, Command> = { ...COMMANDS, ...OTHER_ACTIONS };
  const chat: Chat = new Chat(context, (action) => void actions[action](chat));
  const commands = Object.entries(COMMANDS).map(([name, run]: [string, Command]) =>
    vscode.commands.registerCommand(`dsh-ls.${name}`, () => {
      chat.start();
      return run(chat);
    }),
  );
  context.subscriptions.push(
    chat,
    ...commands,
    vscode.window.registerWebviewViewProvider("dsh-ls.view", chat.panel),
    vscode.window.onDidChangeActiveTextEditor(() => chat.showChat()),
    vscode.workspace.onDidChangeWorkspaceFolders(({ removed }) => void chat.foldersChanged(removed)),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("dsh-ls.server.path")) void chat.server.start();
      else if (change.affectsConfiguration("dsh-ls.model")) chat.showChat();
    }),
  );
}
