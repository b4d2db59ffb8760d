/** What commands need that look at the last answer again: a server, and a session that has one. */
import type { SessionInfo } from "#protocol";
import type { Chat } from "./chat.ts";
import type { Rpc } from "./client/rpc.ts";
import { warn } from "./commands/tell.ts";
import { hasAnswer } from "./model/asked.ts";

/** Both, or nothing after the person was told why not. */
export async function answered(chat: Chat): Promise<{ rpc: Rpc; info: SessionInfo } | undefined> {
  await chat.conversation.home();
  const { rpc, conversation: { info, model } } = chat;
  if (rpc && info && !model.inTurn && hasAnswer(model)) return { rpc, info };
  if (model.inTurn) warn("an answer is being written. Wait until it is done.");
  else if (!info || !hasAnswer(model)) warn("there is no answer yet to look at. Ask a question first.");
  else warn("the server is not running. Restart it first.");
  return undefined;
}
