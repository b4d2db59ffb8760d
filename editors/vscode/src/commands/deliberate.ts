/** Lets isolated agents look at the last answer. What they find comes with the session's events. */
import * as vscode from "vscode";
import { answered } from "../answered.ts";
import type { Chat } from "../chat.ts";
import { lastQuestion } from "../model/asked.ts";
import { tellFailure, warn } from "./tell.ts";

/** The server's own command for it: it knows which routes and capabilities there are. */
const COMMAND = "deliberate";

export async function deliberate(chat: Chat): Promise<void> {
  await tellFailure(() => start(chat));
}

async function start(chat: Chat): Promise<void> {
  const ready = await answered(chat);
  if (!ready) return;
  const { rpc, info } = ready;
  const commands = rpc.methods.has("command/list") ? (await rpc.request("command/list", { workspace: info.workspace })).commands : [];
  if (!commands.some(({ name }) => name === COMMAND)) {
    warn("this server does not deliberate: it is too old, or its configuration leaves it out.");
    return;
  }
  const goal = await vscode.window.showInputBox({
    prompt: "The question to decide, without an answer to it. Three isolated agents look at the last answer",
    value: lastQuestion(chat.conversation.model).replaceAll(/\s+/g, " "),
    // The answer is read meanwhile, and a view that comes up late takes the focus.
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === "" ? "What is to be decided?" : undefined),
  });
  if (goal === undefined) return;
  await chat.panel.reveal();
  const { ok, text } = await rpc.request("command/run", { sessionId: info.sessionId, line: `/${COMMAND} ${goal.trim()}` });
  if (!ok) warn(text);
}
