/** Starts the server anew. */
import type { Chat } from "../chat.ts";

export async function restart(chat: Chat): Promise<void> {
  await chat.server.start();
}
