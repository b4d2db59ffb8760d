/** Lets an isolated agent review the last answer. What it finds comes with the session's events. */
import { answered } from "../answered.ts";
import type { Chat } from "../chat.ts";
import { tellFailure, warn } from "./tell.ts";

export async function review(chat: Chat): Promise<void> {
  await tellFailure(async () => {
    const ready = await answered(chat);
    if (!ready) return;
    if (!ready.rpc.methods.has("review/start")) {
      warn("this server reviews no answers: it is too old.");
      return;
    }
    await chat.panel.reveal();
    await ready.rpc.request("review/start", { sessionId: ready.info.sessionId });
  });
}
