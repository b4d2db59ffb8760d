/** Typed calls to the server. Which transport carries them is decided elsewhere. */
import type { Methods, Notifications, RpcError } from "#protocol";

/** One running server. */
export interface Rpc {
  /** The methods that it serves: it may be older than this client. */
  methods: ReadonlySet<string>;
  request<Name extends keyof Methods>(
    method: Name,
    params: Methods[Name]["params"],
  ): Promise<Methods[Name]["result"]>;
}

/** What a server sends unasked and this client listens to. */
export const HEARD = [
  "config/changed",
  "deliberate/branch",
  "deliberate/result",
  "session/caughtUp",
  "session/changed",
  "session/event",
  "session/lagged",
  "subagent/finished",
  "subagent/started",
] as const satisfies (keyof Notifications)[];

/** One of them. */
export type Notification = {
  [Name in (typeof HEARD)[number]]: { method: Name; params: Notifications[Name]["params"] };
}[(typeof HEARD)[number]];

/** The server went away before it answered: whether it did what was asked is not known. */
export class ConnectionLost extends Error {
  constructor() {
    super("the server ended before it answered");
  }
}

/** The kind of a domain failure. */
export function failureKind(error: unknown): string | undefined {
  return (error as Partial<RpcError> | undefined)?.data?.kind;
}

/** What a person reads of a failure: what happened, and what to do. */
export function describe(error: unknown): string {
  const { message, data } = error as Partial<RpcError>;
  const text = message ?? String(error);
  return data?.hint === undefined ? text : `${text}: ${data.hint}`;
}
