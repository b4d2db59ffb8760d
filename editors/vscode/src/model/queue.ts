/** The messages that wait or are claimed, followed through the splices of the log. */
import type { InboxSpliced, Message } from "#protocol";
import type { Model } from "./items.ts";

/** Applies a splice and returns what it removed. Places behind the end of a list mean its end. */
export function splice(model: Model, { target, start, removedCount = 0, inserted }: InboxSpliced): Message[] {
  const list = [...model.queue[target]];
  const removed = list.splice(start, removedCount, ...inserted);
  model.queue[target] = list;
  return removed;
}

/** Keeps what a turn took until it is shown. */
export function claim(model: Model, messages: Message[]): void {
  const ids = new Set(messages.map(({ id }) => id));
  model.claimed = [...model.claimed.filter(({ id }) => !ids.has(id)), ...messages];
}

/** Takes a claimed message out: it is shown now. */
export function takeClaimed(model: Model, id: string): Message | undefined {
  const taken = model.claimed.find((message) => message.id === id);
  model.claimed = model.claimed.filter((message) => message !== taken);
  return taken;
}
