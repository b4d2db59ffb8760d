/** Lets the person choose the model that is asked from now on, in this session and in new ones. */
import * as vscode from "vscode";
import type { ModelInfo } from "#protocol";
import { nameOf, type Chat } from "../chat.ts";
import { tellFailure } from "./tell.ts";

export async function model(chat: Chat): Promise<void> {
  await tellFailure(() => choose(chat));
}

async function choose(chat: Chat): Promise<void> {
  // Whom a child agent asks is its parent's business.
  await chat.conversation.home();
  const { rpc } = chat;
  if (!rpc) {
    void vscode.window.showWarningMessage("dsh-ls: the server is not running. Restart it first.");
    return;
  }
  const workspace = chat.conversation.info?.workspace;
  const { models } = await rpc.request("model/list", workspace === undefined ? {} : { workspace });
  const current = chat.conversation.modelId ? nameOf(chat.conversation.modelId) : chat.chosenModel();
  const items = [...models].sort((a, b) => Number(b.ready) - Number(a.ready)).map((each) => toItem(each, current));
  const other = { label: "Another model…", description: "by its name, such as local/NAME", isReady: true };
  const picked = await vscode.window.showQuickPick([...items, other], { placeHolder: "The model that is asked from now on", matchOnDescription: true });
  if (!picked) return;
  if (!picked.isReady) {
    void vscode.window.showWarningMessage(`dsh-ls: ${picked.label} cannot be asked yet: ${picked.description ?? "it is not ready"}.`);
    return;
  }
  const name = picked === other ? await typeName() : picked.label;
  if (!name) return;
  await vscode.workspace.getConfiguration("dsh-ls").update("model", name, vscode.ConfigurationTarget.Global);
  const { info } = chat.conversation;
  if (info && name !== current) {
    // A server that cannot change a session's model gets a new session.
    if (rpc.methods.has("session/setModel")) await rpc.request("session/setModel", { sessionId: info.sessionId, model: name });
    else await chat.newSession(undefined);
  }
  chat.showChat();
}

async function typeName(): Promise<string | undefined> {
  return vscode.window.showInputBox({
    prompt: "The model as PROVIDER/MODEL",
    placeHolder: "local/NAME",
    validateInput: (text) => (/^[^/\s]+\/\S+$/.test(text) ? undefined : "A provider, a slash, and the provider's name of the model"),
  });
}

function toItem(info: ModelInfo, current: string | undefined): vscode.QuickPickItem & { isReady: boolean } {
  const label = nameOf(info);
  const where = info.provider === "offline" ? "searches on this machine, nothing leaves it" : info.provider === "local" ? "a server on this machine" : "code leaves this machine";
  return {
    label,
    description: info.ready ? where : (info.reason ?? "not ready"),
    ...(label === current && { iconPath: new vscode.ThemeIcon("check") }),
    isReady: info.ready,
  };
}
