/** How a deliberation round is shown: one row for each branch, alive while it runs, with what it found when it is over. */
import type { BranchHistory, BranchOutcome } from "#protocol";
import type { Item } from "../model/items.ts";
import { type Live, type LiveBranch, timesAt } from "../model/live.ts";
import type { Branch } from "../model/rounds.ts";
import { h, icon } from "./dom.ts";
import { history, timeLeft } from "./drawings.ts";
import { countFindings, findingRow, sentence, words } from "./findings.ts";
import type { TextActions } from "./markdown_view.ts";
import { toolView } from "./tools.ts";

/** What a round can do. */
export interface RoundActions extends TextActions {
  /** Shows a child agent's session. */
  look(sessionId: string): void;
  /** Stops a round, or one branch of it. */
  cancelRound(roundId: string, label?: string): void;
}

type Round = Extract<Item, { type: "deliberation/started" }>;

interface BranchRow {
  of: Branch;
  element: HTMLElement;
  /** Shows what the branch does; nothing: it does not run. */
  tick(isRoundAlive: boolean, live: LiveBranch | undefined, now: number): void;
}

/** How a branch ends that somebody stopped. */
const STOPPED = "aborted";
const KNOWS: Record<BranchHistory, string> = {
  fresh: "It knows nothing of this session.",
  fork: "It knows the completed turns of this session.",
  "mid-fork": "It knows this session up to its last steps, and reads those without the reasoning behind them.",
};

/** Shows a round, which is another item after each change. */
export function roundRow(first: Round, actions: RoundActions) {
  let round = first;
  const count = h("span", { class: "outcome" });
  const stop = h("button", { class: "ghost", title: "Stop the round", label: "Stop the round", onclick: () => actions.cancelRound(round.roundId) }, icon("stop"));
  const head = h("div", { class: "round-head" }, icon("fork"), h("span", { class: "verb" }, "Deliberation"), count, stop);
  const element = h("div", { class: "card deliberation", role: "group", label: "Deliberation" }, head);
  if (round.goal !== undefined) element.append(h("div", { class: "round-goal cut", title: round.goal }, round.goal));
  let rows: BranchRow[] = [];
  const update = (next: Round): void => {
    round = next;
    rows = round.branches.map((branch, at) => {
      const shown = rows[at];
      if (shown?.of === branch) return shown;
      const row = branchRow(round.roundId, branch, actions);
      if (shown) shown.element.replaceWith(row.element);
      else element.append(row.element);
      return row;
    });
  };
  const tick = ({ rounds }: Live, now: number): void => {
    const alive = round.isSettled ? undefined : rounds.find(({ roundId }) => roundId === round.roundId);
    stop.hidden = alive === undefined;
    const done = round.branches.filter(({ state }) => state === "settled").length;
    count.textContent = alive ? `${done} of ${round.branches.length} came out` : round.isSettled ? "" : "not running";
    for (const row of rows) row.tick(alive !== undefined, alive?.branches.find(({ label }) => label === row.of.plan.label), now);
  };
  update(round);
  return { element, update, tick };
}

function branchRow(roundId: string, branch: Branch, actions: RoundActions): BranchRow {
  const { plan, outcome, childSessionId } = branch;
  const state = h("span", { class: "outcome" });
  const bar = timeLeft();
  const doing = h("span", { class: "doing" });
  const running = h("div", { class: "branch-now" }, doing, bar.element);
  const name = h("span", { class: "branch-name" }, plan.label);
  const head = h("div", { class: "branch-head" }, name, state);
  if (childSessionId !== undefined) head.append(childLink(childSessionId, plan.label, actions));
  const stop = h("button", { class: "ghost", title: `Stop ${plan.label}`, label: `Stop ${plan.label}`, onclick: () => actions.cancelRound(roundId, plan.label) }, icon("stop"));
  head.append(stop);
  const kind = h("div", { class: "branch-kind", title: KNOWS[plan.history] }, history(plan.history), `${words(plan.role)} · ${plan.history}`);
  const element = h("div", { class: `branch ${branch.state}`, role: "group", label: plan.label }, head, kind, running);
  if (outcome) element.append(...showOutcome(outcome, actions));
  element.classList.toggle("failed", branch.state === "settled" && !["completed", STOPPED].includes(branch.stopReason ?? ""));
  const tick = (isRoundAlive: boolean, live: LiveBranch | undefined, now: number): void => {
    const isRunning = isRoundAlive && branch.state !== "settled";
    stop.hidden = !isRunning;
    running.hidden = !isRunning || live === undefined;
    state.textContent = branch.state === "settled" ? tellEnd(branch) : isRunning ? (live ? remaining(live, now) : "waiting") : "no outcome";
    if (!live) return;
    const { elapsedMs, remainingMs } = timesAt(live, now);
    bar.show(remainingMs / Math.max(1, elapsedMs + remainingMs));
    doing.textContent = live.activity === undefined ? "thinking" : toolView(live.activity).verb;
  };
  return { of: branch, element, tick };
}

/** Goes to the session of a child agent. */
export function childLink(sessionId: string, name: string, actions: Pick<RoundActions, "look">): HTMLElement {
  const look = (event: MouseEvent): void => {
    // In a row that opens, this does something else.
    event.preventDefault();
    actions.look(sessionId);
  };
  return h("button", { class: "link child-link", title: `Read what the agent of ${name} did`, onclick: look }, "Open");
}

function remaining(live: LiveBranch, now: number): string {
  const seconds = Math.ceil(timesAt(live, now).remainingMs / 1000);
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return `${time} left`;
}

/** How a branch ended, in a few words. */
function tellEnd({ stopReason = "", outcome }: Branch): string {
  if (stopReason === "completed") {
    if (!outcome) return "came out";
    return outcome.packet?.status === "update" ? countFindings(outcome.packet.items?.length ?? 0) : "nothing to add";
  }
  if (stopReason === STOPPED) return "stopped";
  if (stopReason === "timeout") return "out of time";
  return stopReason === "error" ? "failed" : words(stopReason);
}

function showOutcome(outcome: BranchOutcome, actions: TextActions): HTMLElement[] {
  const { packet, diagnostic, droppedRefs = 0, degraded = [], historyWindow } = outcome;
  const parts = (packet?.items ?? []).map((item) => findingRow(item, actions));
  if (!packet && diagnostic !== undefined && outcome.stopReason !== STOPPED) {
    parts.push(h("div", { class: "diagnostic" }, icon("warning"), h("div", { class: "note-text" }, sentence(diagnostic))));
  }
  const remarks = degraded.map(sentence);
  if (droppedRefs > 0) remarks.push(droppedRefs === 1 ? "One place that it named does not hold and is left out." : `${droppedRefs} places that it named do not hold and are left out.`);
  if (historyWindow && historyWindow.projectedSteps < historyWindow.requestedSteps) {
    remarks.push(`It read ${historyWindow.projectedSteps} of the ${historyWindow.requestedSteps} steps that it was asked to read.`);
  }
  const isLate = outcome.cleanup === "failed" || outcome.cleanup === "abandoned";
  // The server's end was its own end.
  if (isLate && outcome.stopReason !== "interrupted") remarks.push("Its agent did not end in time.");
  return [...parts, ...remarks.map((text) => h("div", { class: "remark" }, text))];
}
