/** Decides whether a server that ended is started again. */

const MOST = 5;
const WINDOW_MS = 3 * 60 * 1000;
const LONGEST_PAUSE_MS = 4000;

/** Counts the ends of a server. */
export class Restarts {
  private ends: number[] = [];

  /** The server ended at `now`: the pause before the next start in milliseconds, or nothing when it ends too often. */
  next(now: number): number | undefined {
    this.ends = [...this.ends.filter((at) => now - at < WINDOW_MS), now];
    const count = this.ends.length;
    if (count > MOST) return undefined;
    return count === 1 ? 0 : Math.min(LONGEST_PAUSE_MS, 250 * 2 ** (count - 2));
  }

  /** A person asked for a start: what was before no longer counts. */
  forget(): void {
    this.ends = [];
  }
}
