/** A model's server on this machine. What it does is said by the question: `drip COUNT PERSECOND`, `hostile`, `places`, `fail`, `showcase`. */
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

/** Starts it. `count()` tells how many pieces were sent so far. */
export async function startModel() {
  let pieces = 0;
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
    const drip = /drip (\d+) (\d+)/.exec(text);
    if (drip) await dripped(Number(drip[1]), Number(drip[2]), response, send);
    else if (text.includes("hostile")) send({ content: HOSTILE });
    else if (text.includes("places")) send({ content: PLACES });
    else if (text.includes("showcase")) send({ content: SHOWCASE });
    else send({ content: `I heard: ${text.split("\n")[0]}` });
    send({}, "stop");
    response.end("data: [DONE]\n\n");
  };
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address();
  return { url: `http://127.0.0.1:${port}/v1`, count: () => pieces, stop: () => server.close() };
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
