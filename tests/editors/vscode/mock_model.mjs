/**
 * A model's server on this machine. What it does is said by the question: `drip COUNT PERSECOND`, `hostile`, `places`, `fail`,
 * `showcase`, `wrong places`, `look into it`, `ask a subagent`, `ask two subagents`, `ask for a round`. As a branch of a round and as a
 * reviewer it does what its role is for; those of a question with `slowly`, and subagents, wait for `release()`. A reviewer of `flawless`
 * finds nothing, and one of `forgotten` hands nothing in; of `is NAME right` the name is in what it finds.
 */
import { createServer } from "node:http";

/** Things that an answer may hold and that a page must not obey. */
export const HOSTILE = [
  "<script>document.title = 'obeyed'</script><img src=x onerror=\"document.title = 'obeyed'\">",
  "[press](javascript:alert(1)) [away](https://example.invalid/a) [up](../../etc/passwd:1)",
  "See ../outside.txt:1 and /etc/hostname:1 and `link.txt:1` and src/missing.rs:3.",
  "![seen](https://example.invalid/seen.png) [run](command:workbench.action.terminal.new) [page](data:text/html,x) <a href=\"https://example.invalid/\">go</a>",
  "| a | b |\n|---|---|\n<style>*{display:none}</style>",
].join("\n\n");

/** Places in the ways that models write them. */
const PLACES = "See `My Notes/a b.md:3`, src/shape.rs#L10, [area](src/shape.rs#L9-L11) and [the notes](<My Notes/a b.md#L1>).";

/** Places of which one holds. */
const WRONG_PLACES = "`Circle` is defined in `src/shape.rs:4`, and used in `src/shape.rs:99` and `src/gone.rs:2`. From `src/shape.rs:1`:\n\n```rust\npub fn area(&self) -> f64 {\n```";

/** What a subagent is to do. It waits for `release()` as well. */
const TASK = "How many circles are there? Look into src/main.rs:6.";

const OTHER_TASK = "And in the notes?";

const QUESTION = "Is 3.14 precise enough for `area`?";
/** What the branches of a round look at; each is another role, and there is no step yet that the last could review. */
const BRANCHES = [
  { label: "other way", role: "independent-alternative", focus: "another constant" },
  { label: "audit", role: "trajectory-audit", focus: "who depends on it" },
  { label: "review", role: "masked-review", focus: "what was read", recentSteps: 2 },
].map((branch) => ({ ...branch, route: "same", capability: "read-only" }));

/** What a branch hands in, by its role; the review forgets to. */
const PACKETS = {
  "independent-alternative": [
    { kind: "suggestion", certainty: "likely", content: "The standard library has the constant: `std::f64::consts::PI`. Nothing else would change.", refs: [{ path: "src/shape.rs", line: 10, quote: "3.14 * self.radius * self.radius" }] },
    { kind: "unknown", certainty: "uncertain", content: "How precise an area has to be is said nowhere, not even in README.md:3." },
  ],
  "trajectory-audit": [
    { kind: "possible_error", certainty: "certain", content: "The answer calls `area` exact. It is 0.05 % off, and what `main` prints shows it.", refs: [{ path: "src/shape.rs", line: 10 }, { path: "src/main.rs", line: 7, quote: "println!(\"{}\", circle.area());" }, { path: "src/gone.rs", line: 1 }] },
  ],
};

/** What a reviewer of a turn finds. */
const findings = (name) => [
  { kind: "possible_error", certainty: "certain", content: `\`${name}\` takes \`3.14\` for π: every area is 0.05 % too small.`, refs: [{ path: "src/shape.rs", line: 10, quote: "3.14 * self.radius * self.radius" }] },
  { kind: "suggestion", certainty: "likely", content: `\`main\` prints all digits of \`${name}\`, which promises more than there is.`, refs: [{ path: "src/main.rs", line: 7, quote: "circle.area()" }] },
];
const IS_NOTICE = /^\{"role":"masked-review"/;

/** Starts it. `count()` tells how many pieces were sent so far. */
export async function startModel() {
  let pieces = 0;
  let calls = 0;
  /** What the requests wait for that are held. One whose client goes away waits no more. */
  const held = new Set();
  const hold = (response) =>
    new Promise((go) => {
      held.add(go);
      response.on("close", () => held.delete(go) && go());
    });
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => (body += data));
    request.on("end", () => void answer(JSON.parse(body || "{}"), response));
  });
  const answer = async ({ messages = [] }, response) => {
    const asked = messages.findLast(({ role }) => role === "user")?.content ?? "";
    const text = typeof asked === "string" ? asked : asked.map((part) => part.text ?? "").join("\n");
    if (text.includes("fail")) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end('{"error": {"message": "the model is out of breath"}}');
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", connection: "close" });
    const send = (delta, finish = null) => {
      pieces += 1;
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    };
    const call = (name, ...each) => {
      send({ tool_calls: each.map((args, index) => ({ index, id: `call-${(calls += 1)}`, type: "function", function: { name, arguments: JSON.stringify(args) } })) });
      send({}, "tool_calls");
      response.end("data: [DONE]\n\n");
    };
    const isSecond = messages.at(-1)?.role === "tool";
    if (text.includes("isolated `masked-review` child")) {
      // The turn stands before what the reviewer is told to do, and earlier turns before it.
      const turn = JSON.stringify(messages.filter(({ role }) => role === "user").slice(-2));
      if (turn.includes("slowly")) await hold(response);
      if (response.destroyed) return;
      const items = findings(/is (\w+) right/.exec(turn)?.[1] ?? "Area");
      if (!turn.includes("forgotten")) return call("structured_output", { role: "masked-review", ...(turn.includes("flawless") ? { status: "no_update" } : { status: "update", items }) });
    }
    const role = /isolated `([a-z-]+)` branch/.exec(text)?.[1];
    if (role) {
      // A branch looks for itself first, so that there is something to see of it.
      if (role === "trajectory-audit" && !isSecond) return call("grep", { pattern: "area" });
      if (text.includes("slowly") && role !== "independent-alternative") await hold(response);
      if (response.destroyed) return;
      if (PACKETS[role]) return call("structured_output", { role, status: "update", items: PACKETS[role] });
    }
    if (text.includes("look into it") && !isSecond) return call("grep", { pattern: "area" });
    if (text.includes("ask a subagent") && !isSecond) return call("subagent", { description: "count the circles", prompt: TASK });
    if (text.includes("ask two subagents") && !isSecond) return call("subagent", ...[TASK, OTHER_TASK].map((prompt) => ({ description: "count the circles", prompt })));
    if ([TASK, OTHER_TASK].includes(text)) await hold(response);
    if (text.includes("ask for a round") && !isSecond) return call("deliberate", { goal: QUESTION, incumbent: "It is.", context: { observations: [], constraints: [], unknowns: [] }, branches: BRANCHES });
    const drip = /drip (\d+) (\d+)/.exec(text);
    if (drip) await dripped(Number(drip[1]), Number(drip[2]), response, send);
    else if (IS_NOTICE.test(text)) send({ content: "Now I see: `area` is 0.05 % too small, see src/shape.rs:10." });
    else if (text.includes("hostile")) send({ content: HOSTILE });
    else if (text.includes("wrong places")) send({ content: WRONG_PLACES });
    else if (text.includes("places")) send({ content: PLACES });
    else if (text.includes("showcase")) send({ content: SHOWCASE });
    else send({ content: `I heard: ${text.split("\n")[0]}` });
    send({}, "stop");
    response.end("data: [DONE]\n\n");
  };
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address();
  return { url: `http://127.0.0.1:${port}/v1`, count: () => pieces, waiting: () => held.size, release: () => held.forEach((go) => held.delete(go) && go()), stop: () => server.close() };
}

/** Sends pieces at a rate, however coarse the clock is. */
async function dripped(count, perSecond, response, send) {
  const began = performance.now();
  for (let sent = 0; sent < count && !response.destroyed; ) {
    const due = Math.min(count, 1 + Math.floor(((performance.now() - began) * perSecond) / 1000));
    for (; sent < due; sent += 1) send({ content: piece(sent) });
    await new Promise((next) => setTimeout(next, 2));
  }
}

/** Paragraphs, code and places, so that every part of the view has work. */
function piece(at) {
  const place = at % 400;
  if (place === 399) return "\n\n";
  if (place === 300) return "\n\n```rust\n";
  if (place === 380) return "\n```\n\n";
  if (place > 300 && place < 380) return place % 8 === 0 ? "let x = 1;\n" : `word${at} `;
  if (place % 50 === 49) return " src/shape.rs:3\n\n- ";
  return `word${at} `;
}

const SHOWCASE = `## How a request is retried

Failed requests are sent again by **one** function, \`src/retry.rs:4\`. It asks the policy for a pause and gives up after three attempts:

\`\`\`rust
pub fn next_pause(attempt: u32) -> Option<Duration> {
    (attempt < 3).then(|| Duration::from_millis(250 << attempt))
}
\`\`\`

1. The pause doubles each time, see src/retry.rs:5.
2. What may be sent again is decided in src/policy.rs:1-4.
   - a full server: *yes*
   - a refused key: *no*

> Callers that hold a lock must drop it first.
`;
