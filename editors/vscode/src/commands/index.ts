/** The commands: one line each, by name. `package.json` declares them, and a test compares. */
import type { Chat } from "../chat.ts";
import { ask } from "./ask.ts";
import { autoReview } from "./auto_review.ts";
import { cancel } from "./cancel.ts";
import { chat } from "./chat.ts";
import { deliberate } from "./deliberate.ts";
import { model } from "./model.ts";
import { newSession } from "./new_session.ts";
import { restart } from "./restart.ts";
import { review } from "./review.ts";
import { sessions } from "./sessions.ts";

/** What a command does. */
export type Command = (chat: Chat) => Promise<void> | void;

/** Every command, by what stands behind `dsh-ls.` in its name. */
export const COMMANDS = { ask, autoReview, cancel, chat, deliberate, model, newSession, restart, review, sessions } satisfies Record<string, Command>;
