/** What a person asked, and whether it was answered. */
import type { Model } from "./items.ts";

/** The text of the last question; empty: none. */
export function lastQuestion({ items }: Model): string {
  const asked = items.findLast((item) => item.type === "user/message" && item.plugin === undefined);
  if (asked?.type !== "user/message") return "";
  return asked.content.map((block) => (block.type === "text" ? block.text : "")).join("\n").trim();
}

/** Whether there is an answer. */
export function hasAnswer({ items }: Model): boolean {
  return items.some((item) => item.type === "assistant/message" && item.block === "text");
}
