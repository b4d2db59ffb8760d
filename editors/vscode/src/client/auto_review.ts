/** Whether answers are reviewed by themselves. It is a value of the server's configuration, which others may change too. */
import type { Rpc } from "./rpc.ts";

const ROW = "tool-deliberation";
const SWITCH = "autoReview.enabled";

/** The value as this client knows it. */
export class AutoReview {
  /** Absent: not known, or this server reviews nothing. */
  isOn: boolean | undefined;
  private reads = 0;

  constructor(private readonly changed: () => void) {}

  /** Reads it from the server. */
  async read(rpc: Rpc, workspace: string | undefined): Promise<void> {
    const read = (this.reads += 1);
    const isOn = rpc.methods.has("review/start") ? await readSwitch(rpc, workspace) : undefined;
    // What was asked for later is newer, whichever answer came first.
    if (read !== this.reads || isOn === this.isOn) return;
    this.isOn = isOn;
    this.changed();
  }

  /** Switches it in the configuration of the home folder: it counts for every folder and every editor. Returns what it is now. */
  async toggle(rpc: Rpc, workspace: string | undefined): Promise<boolean> {
    await this.read(rpc, workspace);
    if (this.isOn === undefined) throw new Error("This server reviews no answers: it is too old, or its configuration leaves reviews out.");
    const value = !this.isOn;
    await rpc.request("config/set", { row: ROW, path: SWITCH, value });
    await this.read(rpc, workspace);
    return value;
  }
}

async function readSwitch(rpc: Rpc, workspace: string | undefined): Promise<boolean | undefined> {
  const { rows } = await rpc.request("config/dump", { ...(workspace !== undefined && { workspace }) });
  const row = rows.find(({ id, disabled }) => id === ROW && !disabled);
  if (!row) return undefined;
  const { autoReview } = row.config as { autoReview?: { enabled?: unknown } };
  return autoReview?.enabled === true;
}
