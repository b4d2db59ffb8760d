/** Reviews as the log tells them: a review is one item, replaced by its next state. Meanwhile the answer that it looks at is a draft. */
import type { PacketItem, ReleaseReason, ReviewBy, ReviewChild, ReviewClaimed, ReviewItem, ReviewItemChanged, ReviewReason, ReviewReleased, ReviewSettled, ReviewStatus } from "#protocol";
import type { Item, Model } from "./items.ts";

/** One review of a turn. */
export interface Review {
  reviewId: string;
  by: ReviewBy;
  /** Seq of the answer that it looks at. */
  draftSeq?: number;
  /** The session of its child agent, once there is one. */
  childSessionId?: string;
  /** How it came out, once it has. */
  outcome?: ReviewOutcome;
}

/** How a review came out. One that was released does not count, and its turn may be reviewed again. */
export type ReviewOutcome =
  | { status: "released"; reason: ReleaseReason }
  | { status: ReviewStatus; reason?: ReviewReason; items: ReviewItem[] };

type Row = Extract<Item, { type: "review/claimed" }>;

/** A review as it begins. */
export function claimedReview(model: Model, { reviewId, by, draftSeq }: ReviewClaimed): Review {
  markDraft(model, draftSeq, true);
  return { reviewId, by, ...(draftSeq !== undefined && { draftSeq }) };
}

/** Its child agent began. */
export function foldReviewChild(model: Model, { reviewId, childSessionId }: ReviewChild): void {
  replaceReview(model, reviewId, (review) => ({ ...review, childSessionId }));
}

/** It does not count. */
export function releaseReview(model: Model, { reviewId, reason }: ReviewReleased): void {
  endReview(model, reviewId, () => ({ status: "released", reason }));
}

/** It came out; or, after that, the step that was to take in its notice failed. What a person said of its items stays. */
export function settleReview(model: Model, { reviewId, status, reason, items = [] }: ReviewSettled): void {
  endReview(model, reviewId, ({ outcome }) => {
    const known = outcome?.status === "released" ? [] : (outcome?.items ?? []);
    const stated = items.map((item: PacketItem, at): ReviewItem => ({ ...item, state: known[at]?.state ?? "open" }));
    return { status, ...(reason !== undefined && { reason }), items: stated };
  });
}

/** A person said something of an item. */
export function foldReviewItem(model: Model, { reviewId, index, state }: ReviewItemChanged): void {
  replaceReview(model, reviewId, (review) => {
    const { outcome } = review;
    if (!outcome || outcome.status === "released") return review;
    const items = outcome.items.map((item, at) => (at === index ? { ...item, state } : item));
    return { ...review, outcome: { ...outcome, items } };
  });
}

function endReview(model: Model, reviewId: string, outcome: (review: Row) => ReviewOutcome): void {
  replaceReview(model, reviewId, (review) => ({ ...review, outcome: outcome(review) }));
  const isOpen = (item: Item): item is Row => item.type === "review/claimed" && item.outcome === undefined;
  const ended = find(model, reviewId);
  // Another review may look at the same answer.
  const isDraft = model.items.some((item) => isOpen(item) && item.draftSeq === ended?.draftSeq);
  if (!isDraft) markDraft(model, ended?.draftSeq, false);
}

function markDraft(model: Model, draftSeq: number | undefined, isDraft: boolean): void {
  if (draftSeq === undefined) return;
  for (const [at, item] of model.items.entries()) {
    if (item.type !== "assistant/message" || item.block !== "text" || item.seq !== draftSeq) continue;
    const { isDraft: _, ...rest } = item;
    model.items[at] = isDraft ? { ...rest, isDraft } : rest;
  }
}

function find(model: Model, reviewId: string): Row | undefined {
  const found = model.items.findLast((item) => item.type === "review/claimed" && item.reviewId === reviewId);
  return found?.type === "review/claimed" ? found : undefined;
}

function replaceReview(model: Model, reviewId: string, next: (review: Row) => Row): void {
  const review = find(model, reviewId);
  if (review) model.items[model.items.lastIndexOf(review)] = next(review);
}
