/** Lets the person go back to an earlier session of the folder. */
import * as vscode from "vscode";
import type { Event, SessionInfo } from "#protocol";
import type { Chat } from "../chat.ts";
import type { Rpc } from "../client/rpc.ts";
import { textOfMessage } from "../model/text.ts";
import { tellFailure } from "./tell.ts";

/** How many sessions are offered. */
const MOST = 30;

export async function sessions(chat: Chat): Promise<void> {
  await tellFailure(() => choose(chat));
}

async function choose(chat: Chat): Promise<void> {
  const { rpc } = chat;
  const folder = chat.folderPath();
  if (!rpc || folder === undefined) return;
  const workspace = vscode.Uri.file(folder).toString();
  const listed = await rpc.request("session/list", { workspace, limit: MOST });
  const items = (await Promise.all(listed.sessions.map((session) => toItem(rpc, session)))).filter((item) => item !== undefined);
  const placeHolder = items.length === 0 ? "There are no earlier sessions in this folder" : "The session to go on with";
  const picked = await vscode.window.showQuickPick(items, { placeHolder, matchOnDescription: true });
  if (!picked) return;
  await chat.conversation.open(picked.sessionId);
  await chat.panel.reveal();
}

type SessionItem = vscode.QuickPickItem & { sessionId: string };

/** A row for a session in which something was asked. */
async function toItem(rpc: Rpc, session: SessionInfo): Promise<SessionItem | undefined> {
  const label = session.title ?? (await firstQuestion(rpc, session));
  if (label === undefined) return undefined;
  return { label, description: new Date(session.updatedAt).toLocaleString(), sessionId: session.sessionId };
}

/** A session without a title goes by its first question. */
async function firstQuestion(rpc: Rpc, { sessionId }: SessionInfo): Promise<string | undefined> {
  const { events } = await rpc.request("session/events", { sessionId, types: ["user/message"], limit: 1 });
  const first = events[0] as (Event & { type: "user/message" }) | undefined;
  return first && textOfMessage(first.data).replace(/\s+/g, " ").trim().slice(0, 80);
}
