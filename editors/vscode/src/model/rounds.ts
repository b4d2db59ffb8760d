/** Deliberation rounds as the log tells them: a round is one item, replaced by its next state. */
import type { BranchOutcome, BranchPlan, DeliberationBranch, DeliberationSettled } from "#protocol";
import type { Item, Model } from "./items.ts";

/** One branch of a round. */
export interface Branch {
  plan: BranchPlan;
  state: "waiting" | "running" | "settled";
  /** The session of its child agent, once there is one. */
  childSessionId?: string;
  /** Why it ended; what it found follows with the round. */
  stopReason?: string;
  outcome?: BranchOutcome;
}

type Round = Extract<Item, { type: "deliberation/started" }>;

/** The branches of a round that has just begun. */
export function waitingBranches(plans: readonly BranchPlan[]): Branch[] {
  return plans.map((plan) => ({ plan, state: "waiting" }));
}

/** A branch began or came out. */
export function foldBranch(model: Model, { roundId, label, state, childSessionId, stopReason }: DeliberationBranch): void {
  replaceRound(model, roundId, (round) => {
    const known = { state, ...(childSessionId !== undefined && { childSessionId }), ...(stopReason !== undefined && { stopReason }) };
    return { ...round, branches: round.branches.map((branch) => (branch.plan.label === label ? { ...branch, ...known } : branch)) };
  });
}

/** The round came out: what each branch found. */
export function settleRound(model: Model, { roundId, outcomes }: DeliberationSettled): void {
  replaceRound(model, roundId, (round) => {
    const settle = (branch: Branch): Branch => {
      const outcome = outcomes.find(({ label }) => label === branch.plan.label);
      if (!outcome) return branch;
      const child = outcome.childSessionId ?? branch.childSessionId;
      return { plan: branch.plan, state: "settled", ...(child !== undefined && { childSessionId: child }), stopReason: outcome.stopReason, outcome };
    };
    return { ...round, isSettled: true, branches: round.branches.map(settle) };
  });
}

function replaceRound(model: Model, roundId: string, next: (round: Round) => Round): void {
  const at = model.items.findLastIndex((item) => item.type === "deliberation/started" && item.roundId === roundId);
  const round = model.items[at];
  if (round?.type === "deliberation/started") model.items[at] = next(round);
}
