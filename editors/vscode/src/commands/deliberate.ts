/** Lets isolated agents look at the last answer. What they find comes with the session's events. */
import * as vscode from "vscode";
import type { Chat } from "../chat.ts";
import { hasAnswer, lastQuestion } from "../model/asked.ts";
import { tellFailure } from "./tell.ts";

/** The server's own command for it: it knows which routes and capabilities there are. */
const COMMAND = "deliberate";

export async function deliberate(chat: Chat): Promise<void> {
  await tellFailure(() => start(chat));
}

async function start(chat: Chat): Promise<void> {
  await chat.conversation.home();
  const { rpc, conversation } = chat;
  const { info, model } = conversation;
  const problem = whyNot(chat);
  if (!rpc || !info || problem !== undefined) {
    void vscode.window.showWarningMessage(`dsh-ls: ${problem ?? "the server is not running. Restart it first."}`);
    return;
  }
  const commands = rpc.methods.has("command/list") ? (await rpc.request("command/list", { workspace: info.workspace })).commands : [];
  if (!commands.some(({ name }) => name === COMMAND)) {
    void vscode.window.showWarningMessage("dsh-ls: this server does not deliberate: it is too old, or its configuration leaves it out.");
    return;
  }
  const goal = await vscode.window.showInputBox({
    prompt: "The question to decide, without an answer to it. Three isolated agents look at the last answer",
    value: lastQuestion(model).replaceAll(/\s+/g, " "),
    validateInput: (text) => (text.trim() === "" ? "What is to be decided?" : undefined),
  });
  if (goal === undefined) return;
  await chat.panel.reveal();
  const { ok, text } = await rpc.request("command/run", { sessionId: info.sessionId, line: `/${COMMAND} ${goal.trim()}` });
  if (!ok) void vscode.window.showWarningMessage(`dsh-ls: ${text}`);
}

/** Why there is nothing to deliberate about now. */
function whyNot({ conversation: { info, model } }: Chat): string | undefined {
  if (model.inTurn) return "an answer is being written. Deliberate when it is done.";
  return info && hasAnswer(model) ? undefined : "there is no answer yet to deliberate about. Ask a question first.";
}
