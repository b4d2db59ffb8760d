/** Stops the running answer and drops what waits behind it. */
import type { Chat } from "../chat.ts";
import { tellFailure } from "./tell.ts";

export async function cancel(chat: Chat): Promise<void> {
  await tellFailure(() => chat.conversation.cancel());
}
