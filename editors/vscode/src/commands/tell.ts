/** Tells the person what went wrong in a command. */
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
