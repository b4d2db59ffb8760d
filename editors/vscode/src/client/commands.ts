/** Commands that a person types where questions are typed: a text that begins with a slash. */
import type { Rpc } from "./rpc.ts";

/** Whether a text is a command, known or not. */
export function isCommand(text: string): boolean {
  return text.startsWith("/");
}

/** Throws unless the command is offered in `workspace`; says which are. */
export async function checkCommand(rpc: Rpc, line: string, workspace: string | undefined): Promise<void> {
  if (!rpc.methods.has("command/run")) throw new Error("This server runs no commands: it is too old.");
  const { commands } = await rpc.request("command/list", { ...(workspace !== undefined && { workspace }) });
  const [name = ""] = line.slice(1).split(/\s/, 1);
  if (commands.some((command) => command.name === name)) return;
  const known = commands.map((command) => `/${command.name} ${command.arguments}`.trim());
  throw new Error(`There is no command /${name}. ${known.length === 0 ? "There are none here." : `There are: ${known.join(", ")}.`}`);
}
