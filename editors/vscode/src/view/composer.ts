/** Where a person types: the question, what it is about, the model, and the button that sends or stops. */
import { h, icon } from "./dom.ts";
import type { ChatState, FromView } from "./messages.ts";

/** The part of the view at its bottom. */
export class Composer {
  readonly element: HTMLElement;
  private readonly input = h("textarea", { label: "Question" });
  private readonly attachment = h("div", { class: "attachments" });
  private readonly model = h("button", { class: "ghost model", title: "Choose the model", onclick: () => this.send({ type: "act", action: "model" }) });
  private readonly folder = h("button", { class: "ghost folder", onclick: () => this.send({ type: "act", action: "newSession" }) });
  private readonly badge = h("span", { class: "badge", title: "Answers are found by search on this machine. Nothing leaves it." }, icon("offline"), h("span", { class: "word" }, "offline"));
  private readonly deliberate = h(
    "button",
    { class: "ghost aside", title: "Deliberate: let three isolated agents look at the last answer", label: "Deliberate about the last answer", onclick: () => this.send({ type: "act", action: "deliberate" }) },
    icon("fork"),
  );
  private readonly review = h(
    "button",
    { class: "ghost aside", title: "Review: let an isolated agent read the last answer again", label: "Review the last answer", onclick: () => this.send({ type: "act", action: "review" }) },
    icon("review"),
  );
  private readonly autoReview = h("button", { class: "ghost auto-review", onclick: () => this.send({ type: "act", action: "autoReview" }) }, icon("auto"), h("span", { class: "word" }, "auto"));
  private readonly button = h("button", { class: "primary round" });
  private isRunning = false;
  private canAsk = false;

  constructor(
    private readonly send: (message: FromView) => void,
    private readonly typed: (text: string) => void,
  ) {
    this.input.rows = 1;
    this.input.addEventListener("input", () => this.edited());
    this.input.addEventListener("keydown", (event) => {
      // The last letters of some scripts are chosen with Enter: that is no wish to send.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
    this.button.addEventListener("click", () => (this.isStop() ? this.send({ type: "cancel" }) : this.submit()));
    const bar = h("div", { class: "bar" }, this.model, this.badge, h("span", { class: "space" }), this.autoReview, this.review, this.deliberate, this.button);
    const box = h("div", { class: "box" }, this.folder, this.attachment, this.input, bar);
    box.addEventListener("click", (event) => {
      if (event.target === box) this.input.focus();
    });
    this.element = h("div", { class: "composer" }, box);
    // Until the host has spoken there is nothing to tell.
    this.badge.hidden = true;
    this.deliberate.hidden = true;
    this.review.hidden = true;
    this.autoReview.hidden = true;
    this.folder.hidden = true;
    this.attachment.hidden = true;
    this.changed();
  }

  /** Shows what the host said. */
  show(chat: ChatState): void {
    // What a child agent is asked is its parent's business.
    this.element.hidden = chat.child !== undefined;
    this.canAsk = chat.folder !== undefined && chat.server.kind !== "failed";
    this.input.placeholder = chat.folder === undefined ? "Open a folder first" : "Ask a question";
    this.input.disabled = chat.folder === undefined;
    const model = chat.model?.name ?? "model";
    this.model.replaceChildren(h("span", { class: "cut" }, model), icon("chevron"));
    this.model.setAttribute("aria-label", `Model: ${model}`);
    const folder = chat.folder ?? "";
    this.folder.hidden = chat.hasOtherFolders !== true;
    this.folder.replaceChildren(icon("folder"), h("span", { class: "cut" }, folder));
    this.folder.title = `Only ${folder} is read. Begin a session about another folder`;
    this.folder.setAttribute("aria-label", `Folder: ${folder}`);
    this.badge.hidden = chat.model?.isOffline !== true;
    this.showAutoReview(chat.isAutoReview);
    const { attachment } = chat;
    this.attachment.hidden = !attachment;
    if (attachment) {
      const remove = h("button", { class: "ghost", title: "Remove", label: "Remove what the question is about", onclick: () => this.send({ type: "detach" }) }, icon("close"));
      this.attachment.replaceChildren(h("span", { class: "chip" }, icon("file"), attachment.label, remove));
    }
    this.changed();
  }

  /** Whether a turn runs, and whether there is an answer that could be looked at again. */
  run(isRunning: boolean, hasAnswer: boolean): void {
    this.deliberate.hidden = isRunning || !hasAnswer;
    this.review.hidden = this.deliberate.hidden || this.autoReview.hidden;
    if (this.isRunning === isRunning) return;
    this.isRunning = isRunning;
    this.changed();
  }

  /** Puts a text in, unless the person has typed another. */
  restore(text: string): void {
    if (this.input.value !== "") return;
    this.input.value = text;
    this.edited();
  }

  focus(): void {
    this.input.focus();
  }

  private showAutoReview(isOn: boolean | undefined): void {
    this.autoReview.hidden = isOn === undefined;
    this.autoReview.setAttribute("aria-pressed", String(isOn === true));
    this.autoReview.title = isOn ? "Answers that looked into files are reviewed before they are final. Switch that off" : "Review answers that looked into files before they are final. Switch that on";
    this.autoReview.setAttribute("aria-label", "Review answers automatically");
  }

  private submit(): void {
    const text = this.input.value.trim();
    if (text === "" || !this.canAsk) return;
    this.input.value = "";
    this.edited();
    this.send({ type: "prompt", text });
  }

  /** While a turn runs the button stops it, unless there is something to send after it. */
  private isStop(): boolean {
    return this.isRunning && this.input.value.trim() === "";
  }

  private edited(): void {
    this.typed(this.input.value);
    this.changed();
  }

  private changed(): void {
    const isStop = this.isStop();
    const title = isStop ? "Stop" : this.isRunning ? "Send when this answer is done" : "Send";
    this.button.title = title;
    this.button.setAttribute("aria-label", title);
    this.button.classList.toggle("stop", isStop);
    this.button.disabled = !isStop && (this.input.value.trim() === "" || !this.canAsk);
    this.button.replaceChildren(icon(isStop ? "stop" : "arrow"));
  }
}
