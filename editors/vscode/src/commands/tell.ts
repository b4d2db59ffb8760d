/** Tells the person what went wrong in a command, or is in its way. */
import * as vscode from "vscode";
import { describe } from "../client/rpc.ts";

/** Runs `act`; its failure becomes a message. */
export async function tellFailure(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    void vscode.window.showErrorMessage(`dsh-ls: ${describe(error)}`);
  }
}

/** Tells the person what is in the way. */
export function warn(problem: string): void {
  void vscode.window.showWarningMessage(`dsh-ls: ${problem}`);
}
