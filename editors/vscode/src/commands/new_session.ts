/** Leaves the session; the next question begins another. */
import type { Chat } from "../chat.ts";
import { chooseFolder, diskFolders } from "../folders.ts";
import { tellFailure } from "./tell.ts";

export async function newSession(chat: Chat): Promise<void> {
  const folder = await chooseFolder();
  if (!folder && diskFolders().length > 0) return;
  await tellFailure(() => chat.newSession(folder));
  await chat.panel.reveal();
}
