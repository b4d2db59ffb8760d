/** Shows Markdown, and goes on where it stopped when the text has grown. */
import { linkedCitation, splitAtCitations, wholeCitation } from "./citations.ts";
import { h, icon } from "./dom.ts";
import { type Block, readBlocks, readSpans, type Span } from "./markdown.ts";
import type { Citation } from "./messages.ts";

/** What a shown text can do. */
export interface TextActions {
  open(citation: Citation): void;
  copy(text: string): void;
}

/** One text on the page. */
export class MarkdownView {
  readonly element = h("div", { class: "markdown" });
  private text = "";
  private blocks: Block[] = [];

  constructor(private readonly actions: TextActions) {}

  /** Shows `text`. What stands above the block in which it grows is not touched. */
  show(text: string): void {
    const last = this.blocks.at(-1);
    const grows = last !== undefined && text.startsWith(this.text);
    const from = grows ? last.start : 0;
    const kept = grows ? this.blocks.length - 1 : 0;
    const read = readBlocks(text, from);
    this.text = text;
    this.blocks = [...this.blocks.slice(0, kept), ...read];
    const old = this.element.children[kept];
    const first = read[0];
    const extends_ = grows && last.kind === "code" && first?.kind === "code" && old !== undefined;
    if (extends_) growCode(old, first);
    const shown = kept + Number(extends_);
    while (this.element.children.length > shown) this.element.lastChild?.remove();
    for (const block of read.slice(Number(extends_))) this.element.append(showBlock(block, this.actions));
  }
}

function showBlock(block: Block, actions: TextActions): HTMLElement {
  switch (block.kind) {
    case "paragraph":
      return h("p", {}, ...showText(block.text, actions));
    case "quote":
      return h("blockquote", {}, ...showText(block.text, actions));
    case "heading":
      return h(block.level <= 2 ? "h3" : "h4", {}, ...showText(block.text, actions));
    case "rule":
      return h("hr");
    case "item": {
      const text = h("div", { class: "item-text" }, ...showText(block.text, actions));
      return h("div", { class: `item depth-${block.depth}` }, h("span", { class: "marker" }, block.marker), text);
    }
    case "code":
      return showCode(block, actions);
  }
}

function showCode(block: Block & { kind: "code" }, actions: TextActions): HTMLElement {
  const code = h("code", {}, codeText(block));
  const copy = h("button", { class: "ghost copy", title: "Copy", label: "Copy the code", onclick: () => actions.copy(code.textContent) }, icon("copy"));
  return h("div", { class: "code" }, copy, h("pre", {}, code));
}

/** A long block is not laid out anew for each piece: its text node grows. */
function growCode(shown: Element, block: Block & { kind: "code" }): void {
  const code = shown.querySelector("code");
  const text = codeText(block);
  const node = code?.firstChild;
  if (node instanceof Text && text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else if (code) code.textContent = text;
}

function codeText(block: Block & { kind: "code" }): string {
  return block.text.slice(0, -1);
}

function showText(text: string, actions: TextActions): (Node | string)[] {
  return readSpans(text).flatMap((span) => showSpan(span, actions));
}

function showSpan(span: Span, actions: TextActions): (Node | string)[] {
  switch (span.kind) {
    case "text":
      return splitAtCitations(span.text).map((piece) => (typeof piece === "string" ? piece : citationLink(piece.text, piece, actions)));
    case "code": {
      const citation = wholeCitation(span.text);
      return [citation ? citationLink(span.text, citation, actions) : h("code", {}, span.text)];
    }
    case "strong":
      return [h("strong", {}, ...span.spans.flatMap((each) => showSpan(each, actions)))];
    case "emphasis":
      return [h("em", {}, ...span.spans.flatMap((each) => showSpan(each, actions)))];
    case "link": {
      // Only places in the folder can be followed; where another link would lead is said in words.
      const citation = linkedCitation(span.target);
      if (citation) return [citationLink(span.text, citation, actions)];
      return [span.text === span.target ? span.text : `${span.text} (${span.target})`];
    }
  }
}

/** A place that can be opened. */
export function citationLink(text: string, citation: Citation, actions: Pick<TextActions, "open">): HTMLElement {
  const title = `Open ${citation.path} at line ${citation.line}`;
  return h("button", { class: "citation", title, onclick: () => actions.open(citation) }, text);
}
