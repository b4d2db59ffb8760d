/** How a review is shown: that it runs, then what it found and what the person says of that; otherwise one quiet line. */
import type { ReleaseReason, ReviewItem, ReviewItemState, ReviewReason } from "#protocol";
import type { Item } from "../model/items.ts";
import type { Live } from "../model/live.ts";
import type { ReviewOutcome } from "../model/reviews.ts";
import { h, icon } from "./dom.ts";
import { countFindings, findingRow } from "./findings.ts";
import type { TextActions } from "./markdown_view.ts";
import { childLink, type RoundActions } from "./rounds.ts";

/** What a review can do. */
export interface ReviewActions extends TextActions, Pick<RoundActions, "look"> {
  /** Stops a review: its child agent. */
  cancelReview(childSessionId: string): void;
  /** Says where a finding stands. */
  setItem(reviewId: string, index: number, state: ReviewItemState): void;
}

type Review = Extract<Item, { type: "review/claimed" }>;

const NAME = "the review";
/** Why there is no packet, as a person reads it. */
const FAILED: Record<ReviewReason, string> = {
  aborted: "it was stopped",
  error: "its agent came to no result",
  "max-tokens": "its answer reached the model's length limit",
  refusal: "its model refused",
  timeout: "it ran out of time",
  "startup-error": "its agent could not be started",
  "infrastructure-error": "something broke that has nothing to do with the answer",
  "no-completed-step": "no step was complete",
  "unsupported-content": "its model does not take images",
  "projection-image-limit": "there are too many images",
  "projection-over-budget": "the turn is too long",
  "invalid-history-window": "there was no such turn",
  "missing-structured-result": "it handed nothing in",
  "invalid-structured-result": "what it handed in has the wrong shape",
  interrupted: "the server ended meanwhile",
  "notice-step-failed": "the agent could not take it in",
};
/** Why an attempt does not count. */
const RELEASED: Record<ReleaseReason, string> = {
  "provider-not-ready": "nothing is there that could review it",
  "projection-over-budget": FAILED["projection-over-budget"],
  "projection-image-limit": FAILED["projection-image-limit"],
  "no-completed-step": FAILED["no-completed-step"],
  "no-open-turn": FAILED["invalid-history-window"],
  "unsupported-content": FAILED["unsupported-content"],
};

/** Shows a review, which is another item after each change. */
export function reviewRow(first: Review, actions: ReviewActions) {
  const element = h("div", { role: "group", label: "Review" });
  const time = h("span", { class: "outcome" });
  let stop: HTMLElement | undefined;
  let review = first;
  const update = (next: Review): void => {
    review = next;
    const { outcome, childSessionId } = review;
    const open = childSessionId === undefined ? [] : [childLink(childSessionId, NAME, actions)];
    stop = undefined;
    if (outcome?.status === "update") {
      element.className = "card review";
      const state = h("span", { class: "outcome" }, tellFindings(outcome.items));
      const head = reviewHead(state, ...open);
      const items = outcome.items.map((item, index) => reviewItem(item, (state) => actions.setItem(review.reviewId, index, state), actions));
      element.replaceChildren(head, ...items);
      if (outcome.reason === "notice-step-failed") element.append(h("div", { class: "remark" }, "The agent could not take it in: its answer stands as it was."));
    } else if (outcome) {
      element.className = "quiet-line review";
      element.replaceChildren(icon(outcome.status === "no_update" ? "check" : "review"), h("span", { class: "note-text" }, tellEnd(outcome)), ...open);
    } else {
      element.className = "card review running";
      if (childSessionId !== undefined) {
        stop = h("button", { class: "ghost", title: "Stop the review", label: "Stop the review", onclick: () => actions.cancelReview(childSessionId) }, icon("stop"));
      }
      element.replaceChildren(reviewHead(time, ...open, ...(stop ? [stop] : [])));
    }
  };
  const tick = ({ reviews }: Live, now: number): void => {
    if (review.outcome) return;
    const live = reviews.find(({ reviewId }) => reviewId === review.reviewId);
    time.textContent = live ? elapsed(now - live.at) : "not running";
    if (stop) stop.hidden = live === undefined;
  };
  update(first);
  return { element, update, tick };
}

function reviewHead(...end: HTMLElement[]): HTMLElement {
  return h("div", { class: "round-head" }, icon("review"), h("span", { class: "verb" }, "Review"), h("span", { class: "head-end" }, ...end));
}

function reviewItem(item: ReviewItem, set: (state: ReviewItemState) => void, actions: TextActions): HTMLElement {
  const element = findingRow(item, actions);
  element.classList.add(item.state);
  const button = (text: string, state: ReviewItemState): HTMLElement => h("button", { class: "link", onclick: () => set(state) }, text);
  const answers = item.state === "open" ? [button("Accept", "accepted"), button("Dismiss", "dismissed")] : [h("span", { class: "state" }, item.state), button("Reopen", "open")];
  element.append(h("div", { class: "answers" }, ...answers));
  return element;
}

function tellFindings(items: ReviewItem[]): string {
  const open = items.filter(({ state }) => state === "open").length;
  return open === items.length ? countFindings(open) : `${open} of ${items.length} open`;
}

function tellEnd(outcome: ReviewOutcome): string {
  switch (outcome.status) {
    case "no_update":
      return "Reviewed: nothing that matters was found.";
    case "cancelled":
      return "The review was stopped.";
    case "released":
      return `Not reviewed: ${RELEASED[outcome.reason] ?? outcome.reason}.`;
    default:
      if (outcome.reason === "aborted") return "The review was stopped.";
      return `Not reviewed: ${outcome.reason === undefined ? "it failed" : (FAILED[outcome.reason] ?? outcome.reason)}.`;
  }
}

function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
