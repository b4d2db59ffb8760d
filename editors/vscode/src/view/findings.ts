/** What a child agent hands in: claims, each with how sure it is and the places that it names. */
import type { FileRef, PacketItem } from "#protocol";
import { h } from "./dom.ts";
import { citationLink, MarkdownView, type TextActions } from "./markdown_view.ts";

/** One finding. */
export function findingRow({ kind, certainty, content, refs = [] }: PacketItem, actions: TextActions): HTMLElement {
  const text = new MarkdownView(actions);
  text.show(content);
  const tags = h("div", { class: "tags" }, h("span", { class: `tag ${kind}` }, words(kind)), h("span", { class: `certainty ${certainty}` }, certainty));
  return h("div", { class: "finding" }, tags, text.element, ...refs.map((ref) => placeRow(ref, actions)));
}

function placeRow({ path, line, quote }: FileRef, actions: TextActions): HTMLElement {
  const link = citationLink(line === undefined ? path : `${path}:${line}`, { path, line: line ?? 1 }, actions);
  return h("div", { class: "ref" }, link, ...(quote === undefined ? [] : [" ", h("code", {}, quote)]));
}

/** How many there are. */
export function countFindings(count: number): string {
  return `${count} ${count === 1 ? "finding" : "findings"}`;
}

/** A name of the wire as words. */
export function words(name: string): string {
  return name.replaceAll(/[-_]/g, " ");
}

/** A text with a capital and a full stop. */
export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
