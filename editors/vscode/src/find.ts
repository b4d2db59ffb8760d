/** Finds the server's program: the setting, else the `PATH`. */
import { delimiter, isAbsolute, join } from "node:path";

/** What finding needs to know of the machine. */
export interface Machine {
  /** The `PATH`. */
  path: string;
  home: string;
  /** Whether a file is there and may be run. */
  canRun(file: string): boolean;
  isWindows: boolean;
}

/** The program's path, or what the person can do so that there is one. */
export function findServer(setting: string, machine: Machine): { path: string } | { problem: string } {
  const wanted = setting.trim();
  if (wanted !== "") {
    const path = /^~[/\\]/.test(wanted) ? join(machine.home, wanted.slice(2)) : wanted;
    if (!isAbsolute(path)) return { problem: `The setting dsh-ls.server.path is “${wanted}”. Give the whole path of the program.` };
    if (machine.canRun(path)) return { path };
    return { problem: `There is no program at ${path}. Correct the setting dsh-ls.server.path, or empty it to use the PATH.` };
  }
  const name = machine.isWindows ? "dsh-ls.exe" : "dsh-ls";
  for (const folder of machine.path.split(delimiter).filter(isAbsolute)) {
    const path = join(folder, name);
    if (machine.canRun(path)) return { path };
  }
  return { problem: "The program dsh-ls was not found on the PATH. Install it with “cargo install --path server/dsh-ls”, or name it in the setting dsh-ls.server.path." };
}
