/** The chat as a whole. It knows its host by a transport only, so it runs in an editor and in a plain page alike. */
import { apply, noteCommand, noteLag } from "../model/apply.ts";
import { hasAnswer, lastQuestion } from "../model/asked.ts";
import { emptyModel, type Model } from "../model/items.ts";
import { emptyLive, type Live, toClock } from "../model/live.ts";
import { Composer } from "./composer.ts";
import { h, icon } from "./dom.ts";
import { introduction } from "./drawings.ts";
import type { Action, ChatState, ToView, Transport } from "./messages.ts";
import type { RowActions } from "./renderers.ts";
import { TranscriptView } from "./transcript_view.ts";

const EXAMPLES = ["Where is the entry point?", "How are errors handled?", "What does the README promise?"];
const LABELS: Record<Action, string> = {
  ask: "Ask about the selection",
  autoReview: "Automatic reviews",
  cancel: "Stop",
  deliberate: "Deliberate",
  log: "Show log",
  model: "Choose a model",
  newSession: "New session",
  openFolder: "Open folder",
  restart: "Restart",
  review: "Review",
  sessions: "Earlier sessions",
  settings: "Open settings",
};
/** After showing, the view rests this many times as long as it took, so that a long answer leaves the time to typing. */
const REST = 4;
/** And at least this long: a reader sees no more than 20 changes a second. */
const LEAST_REST_MS = 50;
/** As much of an answer as is read out by itself. */
const MOST_SPOKEN = 1_000;
/** How often the time that is left is shown anew. */
const TICK_MS = 1_000;
/** How near the end a reader is taken to follow it, in pixels. */
const NEAR_END = 48;

/** Shows the chat in `root`. */
export function startChat(root: HTMLElement, transport: Transport): void {
  let model: Model = emptyModel();
  let chat: ChatState = { server: { kind: "starting" } };
  let live: Live = emptyLive();
  let generation: number | undefined;
  /** What outlives the page: an editor closes it when it is out of sight. */
  const saved = (transport.load() ?? {}) as { text?: string; top?: number | null };
  const save = (changed: typeof saved): void => transport.save(Object.assign(saved, changed));
  const actions: RowActions = {
    open: (citation) => transport.send({ type: "open", citation }),
    copy: (text) => void navigator.clipboard.writeText(text),
    look: (sessionId) => {
      // That a person has just scrolled may not have been told yet.
      readTo.push(follows && isNearEnd() ? undefined : scroller.scrollTop);
      transport.send({ type: "look", sessionId });
    },
    cancelRound: (roundId, label) => transport.send({ type: "cancelRound", roundId, ...(label !== undefined && { label }) }),
    cancelReview: (childSessionId) => transport.send({ type: "cancelReview", childSessionId }),
    setItem: (reviewId, index, state) => transport.send({ type: "setItem", reviewId, index, state }),
    again: () => transport.send({ type: "prompt", text: lastQuestion(model) }),
  };
  const transcript = new TranscriptView(actions);
  const back = (): void => transport.send({ type: "back" });
  const childBar = h("div", { class: "child-bar" });
  const banner = h("div", { class: "banner", role: "alert" });
  const notice = h("div", { class: "banner bad", role: "alert" });
  notice.hidden = true;
  const empty = h("div", { class: "empty" });
  const working = h("div", { class: "working" }, h("i"), h("i"), h("i"));
  const scroller = h("div", { class: "scroller" }, empty, transcript.element, working);
  const composer = new Composer((message) => transport.send(message), (text) => save({ text }));
  const spoken = h("div", { class: "spoken", role: "status", live: "polite" });
  root.replaceChildren(banner, childBar, notice, scroller, composer.element, spoken);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    if (chat.child) back();
    else if (model.inTurn) transport.send({ type: "cancel" });
  });

  let follows = true;
  let lastTop = 0;
  const isNearEnd = (): boolean => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END;
  scroller.addEventListener("scroll", () => {
    const { scrollTop } = scroller;
    // The answer may have grown since the page went to its end: only a way up is a person's.
    if (scrollTop < lastTop || !follows) follows = isNearEnd();
    lastTop = scrollTop;
  });
  scroller.addEventListener("scrollend", () => save({ top: follows ? null : scroller.scrollTop }));
  let returnTo = saved.top ?? undefined;
  /** To where the sessions were read that a child's session is shown in place of. */
  const readTo: (number | undefined)[] = [];
  const follow = (): void => {
    if (!follows) return;
    scroller.scrollTop = scroller.scrollHeight;
    // A person may scroll up before this is told.
    lastTop = scroller.scrollTop;
  };
  new ResizeObserver(follow).observe(scroller);

  let wasInTurn = false;
  const speak = (): void => {
    if (model.inTurn !== wasInTurn) spoken.textContent = model.inTurn ? "Working" : lastAnswer(model);
    wasInTurn = model.inTurn;
  };

  let isAsked = false;
  let restsUntil = 0;
  const schedule = (): void => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(function frame(): void {
      const began = performance.now();
      if (began < restsUntil) {
        requestAnimationFrame(frame);
        return;
      }
      isAsked = false;
      render();
      const ended = performance.now();
      restsUntil = ended + Math.max(LEAST_REST_MS, REST * (ended - began));
    });
  };

  function render(): void {
    transcript.show(model);
    transcript.tick(live, performance.now());
    composer.run(model.inTurn, hasAnswer(model));
    working.hidden = !model.inTurn || model.drafts.some(({ text }) => text !== "");
    empty.hidden = transcript.element.childElementCount > 0;
    speak();
    follow();
    if (returnTo !== undefined && model.lastSeq >= 0) {
      follows = false;
      scroller.scrollTop = returnTo;
      returnTo = undefined;
    }
  }

  let timer: ReturnType<typeof setInterval> | undefined;
  function takeLive(told: Live): void {
    live = toClock(told, 0, performance.now());
    if (live.rounds.length + live.reviews.length > 0) timer ??= setInterval(() => transcript.tick(live, performance.now()), TICK_MS);
    else {
      clearInterval(timer);
      timer = undefined;
    }
  }

  function showChat(): void {
    composer.show(chat);
    const { child } = chat;
    document.body.classList.toggle("reads-only", child !== undefined);
    childBar.hidden = child === undefined;
    if (child) {
      const title = h("span", { class: "cut", title: child.title }, child.title);
      childBar.replaceChildren(h("button", { class: "ghost", label: "Back", onclick: back }, icon("back"), "Back"), title, h("span", { class: "badge" }, "read only"));
    }
    showBanner(banner, chat, transport);
    empty.replaceChildren(...emptyState(chat, transport));
  }

  const take: { [Type in ToView["type"]]: (message: Extract<ToView, { type: Type }>) => void } = {
    show: (message) => {
      const wasChild = chat.child !== undefined;
      ({ model, chat } = message);
      // The same model may be shown again, with another server: a reader stays where they are.
      if (message.generation !== generation) {
        transcript.clear();
        follows = true;
      }
      ({ generation } = message);
      takeLive(message.live);
      wasInTurn = model.inTurn;
      if (wasChild && !chat.child) returnTo = readTo.splice(0)[0];
      showChat();
    },
    events: ({ events }) => {
      for (const event of events) {
        if (event.type === "user/message") {
          follows = true;
          notice.hidden = true;
        }
        apply(model, event);
      }
    },
    live: (message) => takeLive(message.live),
    command: ({ command }) => {
      if (!command.result) {
        follows = true;
        notice.hidden = true;
      }
      noteCommand(model, command);
    },
    lagged: () => noteLag(model),
    chat: (message) => {
      chat = message.chat;
      showChat();
    },
    refused: ({ text, reason }) => {
      composer.restore(text);
      const close = h("button", { class: "ghost", label: "Close", onclick: () => (notice.hidden = true) }, icon("close"));
      notice.replaceChildren(icon("warning"), h("div", { class: "note-text" }, reason), close);
      notice.hidden = false;
    },
    focus: () => composer.focus(),
  };
  transport.onMessage((message) => {
    (take[message.type] as (message: ToView) => void)(message);
    schedule();
  });
  if (saved.text) composer.restore(saved.text);
  transport.send({ type: "ready" });
}

function showBanner(banner: HTMLElement, { server }: ChatState, transport: Transport): void {
  banner.hidden = server.kind === "running" || server.kind === "starting";
  banner.className = server.kind === "failed" ? "banner bad" : "banner";
  if (server.kind === "failed") {
    const buttons = server.actions.map((action) => button(action, transport, "secondary"));
    const text = h("div", { class: "note-text" }, server.message, h("div", { class: "buttons" }, ...buttons));
    banner.replaceChildren(icon("warning"), text);
  } else {
    banner.replaceChildren(icon("spark"), h("div", { class: "note-text" }, "The server ended and is being started again…"));
  }
}

function emptyState(chat: ChatState, transport: Transport): Element[] {
  if (chat.folder === undefined) {
    return [
      h("h2", {}, "No folder is open"),
      h("p", {}, "dsh-ls answers questions about the code in a folder, and reads nowhere else."),
      button("openFolder", transport, "primary"),
    ];
  }
  const examples = EXAMPLES.map((text) => h("button", { class: "example", onclick: () => transport.send({ type: "prompt", text }) }, text));
  const links = (["ask", "sessions"] as const).map((action) => button(action, transport, "link"));
  return [
    introduction(),
    h("h2", {}, `Ask about ${chat.folder}`),
    h("p", {}, "Answers name where each fact stands, and you can follow every place they name. Files are read, never changed."),
    h("div", { class: "examples" }, ...examples),
    h("div", { class: "links" }, ...links),
  ];
}

function button(action: Action, transport: Transport, kind: string): HTMLElement {
  return h("button", { class: kind, onclick: () => transport.send({ type: "act", action }) }, LABELS[action]);
}

/** The end of a turn as it is read out: the answer's beginning, else that it is over. */
function lastAnswer(model: Model): string {
  const begin = model.items.findLastIndex(({ type }) => type === "turn/start");
  const texts = model.items.slice(begin).flatMap((item) => (item.type === "assistant/message" && item.block === "text" ? [item.text] : []));
  const last = texts.at(-1) ?? "The answer ended.";
  return last.length > MOST_SPOKEN ? `${last.slice(0, MOST_SPOKEN)} …` : last;
}
