/** Opens the chat and puts the cursor into it. */
import type { Chat } from "../chat.ts";

export async function chat(chat: Chat): Promise<void> {
  await chat.panel.reveal();
}
