/**
 * What runs while a server does. None of it is in a log, so it ends with the server: a round or a review that the log leaves
 * open and that is not here is not running.
 */
import type { DeliberateBranch, Event, SubagentFinished, SubagentStarted } from "#protocol";

/** A branch that runs. */
export interface LiveBranch {
  label: string;
  /** The tool that its child called last. */
  activity?: string;
  elapsedMs: number;
  remainingMs: number;
  /** When that was so, in milliseconds by the clock of whoever holds this. */
  at: number;
}

/** Everything that runs. Plain data, so that it can cross to a webview. */
export interface Live {
  rounds: { roundId: string; branches: LiveBranch[] }[];
  /** Subagents by the calls that started them. A call's id says which it is among those of its session only. */
  children: { parentSessionId: string; callId: string; childSessionId: string }[];
  /** Reviews, and when each began, by the clock of whoever holds this. */
  reviews: { reviewId: string; at: number }[];
}

/** Nothing runs. */
export function emptyLive(): Live {
  return { rounds: [], children: [], reviews: [] };
}

/** A round runs. */
export function noteRound(live: Live, roundId: string): Live["rounds"][number] {
  const known = live.rounds.find((round) => round.roundId === roundId);
  if (known) return known;
  const round = { roundId, branches: [] };
  live.rounds.push(round);
  return round;
}

/** A branch says what it does. */
export function noteBranch(live: Live, { roundId, label, state, activity, elapsedMs, remainingMs }: DeliberateBranch, at: number): void {
  const round = noteRound(live, roundId);
  round.branches = round.branches.filter((branch) => branch.label !== label);
  if (state === "running") round.branches.push({ label, ...(activity !== undefined && { activity }), elapsedMs, remainingMs, at });
}

/** A round is over. */
export function endRound(live: Live, roundId: string): void {
  live.rounds = live.rounds.filter((round) => round.roundId !== roundId);
}

/** A subagent runs. One that no call started has no row that could lead to it. */
export function noteChild(live: Live, { parentSessionId, childSessionId, callId }: SubagentStarted): void {
  endChild(live, { childSessionId });
  if (callId !== undefined) live.children.push({ parentSessionId, callId, childSessionId });
}

/** A subagent is over. */
export function endChild(live: Live, { childSessionId }: Pick<SubagentFinished, "childSessionId">): void {
  live.children = live.children.filter((child) => child.childSessionId !== childSessionId);
}

/** Follows the reviews through the events of a session. Returns whether something changed. */
export function noteReview(live: Live, event: Event): boolean {
  if (event.type === "review/claimed") {
    live.reviews.push({ reviewId: event.data.reviewId, at: event.time });
    return true;
  }
  if (event.type !== "review/settled" && event.type !== "review/released") return false;
  const { reviewId } = event.data;
  live.reviews = live.reviews.filter((review) => review.reviewId !== reviewId);
  return true;
}

/** How long a branch has run and may go on at `now`, in milliseconds. */
export function timesAt({ elapsedMs, remainingMs, at }: LiveBranch, now: number): { elapsedMs: number; remainingMs: number } {
  const since = Math.max(0, now - at);
  return { elapsedMs: elapsedMs + since, remainingMs: Math.max(0, remainingMs - since) };
}

/** The same by another clock, which reads `there` when this one reads `here`. */
export function toClock(live: Live, here: number, there: number): Live {
  const rounds = live.rounds.map((round) => ({
    ...round,
    branches: round.branches.map((branch) => ({ ...branch, ...timesAt(branch, here), at: there })),
  }));
  const reviews = live.reviews.map(({ reviewId, at }) => ({ reviewId, at: there - Math.max(0, here - at) }));
  return { rounds, children: live.children, reviews };
}
