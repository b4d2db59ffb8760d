"""A model server for tests: speaks the chat-completions stream and does what the last prompt says.

`drip N RATE` writes N pieces, RATE in a second. `think` thinks before it answers. `busy` is
answered when it is asked again. `cut` is never answered to the end. `hostile` calls a tool of an
impossible name, then answers with what could break an editor. `long` writes one very long line.
`cite` makes claims of `src/lib.rs` that do not hold. `deliberate` searches and then asks three
branches; what they do stands in `branch`. `delegate TASK` lets a subagent do the task. `check WHAT`
searches and answers; what a review of that finds stands in `review`. `release` lets a review go on
that is held. Anything else is repeated.
"""

import http.server
import itertools
import json
import re
import threading
import time

HOSTILE = (
    "\x1b[31mred\x1b[0m nul:\x00 bell:\x07 carriage:\r return\n"
    "vim: set modifiable shell=/bin/false :\n"
    "outside `/etc/passwd:1`, `../outside.txt:1`, `link.txt:1`, `src/none.rs:3`\n"
    "inside `src/lib.rs:8`\n"
    "```\nopen fence, then wide " + "宽" * 3000 + "\n"
)


CITE = """`Registration` is a struct (`src/lib.rs:8`), and this holds.

- Further down is `retry_request` (`src/lib.rs:9`).
- The file ends at `src/lib.rs:70`.
- See also `src/gone.rs:3`.

From `src/lib.rs:2`:

```rust
pub struct Registration {
```
"""

# How a branch is told what it is for.
AUDIT = "isolated `trajectory-audit` branch"
REVIEW = "isolated `masked-review` branch"

# How the reviewer of a turn is told what it is for, and how its packet is told.
REVIEWER = "isolated `masked-review` child"
NOTICE = '{"role":"masked-review"'

# Reviews that are held wait here.
gate = threading.Semaphore(0)

# The prompts that were refused once.
refused = set()

calls = itertools.count(1)


def prompts(body):
    """What was asked, in its order."""
    for message in body["messages"]:
        if message["role"] == "user":
            asked = message["content"]
            yield asked if isinstance(asked, str) else "\n".join(p.get("text", "") for p in asked)


def results_after_last_prompt(body):
    """How many tools have answered since the person asked last."""
    roles = [m["role"] for m in body["messages"]]
    last = len(roles) - 1 - roles[::-1].index("user")
    return roles[last:].count("tool")


def pieces(prompt):
    """The pieces of the answer to a prompt, each with the pause before it."""
    words = prompt.split()
    if words[:1] == ["drip"]:
        count, rate = int(words[1]), float(words[2])
        for number in range(count):
            end = "\n" if number % 12 == 11 else " "
            yield 1 / rate, {"content": f"word{number}{end}"}
    elif words[:1] == ["hostile"]:
        for start in range(0, len(HOSTILE), 7):
            yield 0, {"content": HOSTILE[start : start + 7]}
    elif words[:1] == ["long"]:
        for _ in range(100):
            yield 0, {"content": "x" * 1000}
    elif words[:1] == ["cite"]:
        yield 0, {"content": CITE}
    elif words[:1] == ["check"]:
        yield 0, {"content": "Only `src/lib.rs:8` defines a Registration."}
    elif prompt.startswith(NOTICE):
        yield 0, {"content": "On a second look there is more to say."}
    elif words[:1] == ["think"]:
        yield 0, {"reasoning_content": "First this,\n"}
        yield 0, {"reasoning_content": "then that."}
        yield 0.2, {"content": "So be it."}
    else:
        yield 0, {"content": f"You said: {prompt}"}


def call(name, arguments):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": name, "arguments": text}
    # Calls of one session differ in their ids.
    asked = {"index": 0, "id": f"c{next(calls)}", "type": "function", "function": function}
    return {"tool_calls": [asked]}


def hostile_call():
    return call("bad\nname\x00\x1b[2J`", '{"pattern":"a\\nb\\u0000"}')


def deliberation(goal):
    """The call that asks the three roles once each."""
    branches = [
        {"label": "other", "role": "independent-alternative"},
        {"label": "audit", "role": "trajectory-audit"},
        {"label": "again", "role": "masked-review", "recentSteps": 2},
    ]
    for branch in branches:
        branch |= {"route": "same", "capability": "read-only", "focus": "the claim"}
    context = {"observations": [], "constraints": [], "unknowns": []}
    asked = {"goal": goal, "incumbent": "It is.", "context": context, "branches": branches}
    return call("deliberate", asked)


def packet(role):
    """What is handed in: an item with places, of which one does not hold."""
    refs = [
        {"path": "src/lib.rs", "line": 8, "quote": "pub struct Registration {"},
        {"path": "src/lib.rs"},
        {"path": "src/gone.rs", "line": 1},
    ]
    content = "Registration is a struct,\nnot a trait."
    item = {"kind": "possible_error", "certainty": "likely", "content": content, "refs": refs}
    return {"role": role, "status": "update", "items": [item]}


def branch(prompt, results):
    """The call or the answer of a branch. The alternative searches, then never comes out when the
    goal has the word `hold`, else says something without handing it in. With `hold all` the others
    do the same."""
    is_done = "hold all" not in prompt
    if REVIEW in prompt and is_done:
        return call("structured_output", {"role": "masked-review", "status": "no_update"})
    if AUDIT in prompt and is_done:
        return call("structured_output", packet("trajectory-audit"))
    if results == 0:
        return call("grep", {"pattern": "Registration"})
    return "drip 100000 20" if "hold" in prompt else "I would rather talk."


def reviewed(asked):
    """What the turn was to check that a review is of. The reviewer is shown it as a line of text."""
    found = re.findall(r"^(?: *User input: )?check (\w+)", "\n".join(asked), re.MULTILINE)
    return found[-1] if found else ""


def review(what):
    """The packet or the answer of a review: nothing that matters for `check nothing`, words instead of
    a packet for `check badly`, else two items."""
    if what == "nothing":
        return call("structured_output", {"role": "masked-review", "status": "no_update"})
    if what == "badly":
        return "I would rather talk."
    found = packet("masked-review")
    further = {"kind": "unknown", "certainty": "uncertain"}
    further |= {"content": "Nobody looked at the callers.", "refs": [{"path": "src/lib.rs", "line": 4}]}
    found["items"].append(further)
    return call("structured_output", found)


def reaction(asked, results):
    """What the model does: a call, or the prompt whose pieces it says."""
    prompt = asked[-1]
    words = prompt.split()
    if REVIEWER in prompt:
        return review(reviewed(asked))
    if "isolated `" in prompt:
        return branch(prompt, results)
    if words[:1] == ["check"] and results == 0:
        return call("grep", {"pattern": "Registration"})
    if words[:1] == ["hostile"] and results == 0:
        return hostile_call()
    if words[:1] == ["deliberate"] and results < 2:
        steps = [call("grep", {"pattern": "struct"}), deliberation(" ".join(words[1:]))]
        return steps[results]
    if words[:1] == ["delegate"] and results == 0:
        task = " ".join(words[1:])
        return call("subagent", {"description": "look at the struct", "prompt": task})
    return prompt


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(b'{"object":"list","data":[]}', "application/json")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = list(prompts(body))
        prompt = asked[-1]
        if prompt.startswith("busy") and prompt not in refused:
            refused.add(prompt)
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        act = reaction(asked, results_after_last_prompt(body))
        try:
            if prompt == "release":
                gate.release()
            if REVIEWER in prompt and reviewed(asked) == "hold":
                self.wait()
            if isinstance(act, dict):
                self.send(act)
                self.send({}, "tool_calls")
            elif prompt == "cut":
                self.send({"content": "This is all there"})
                self.close_connection = True
                return
            else:
                self.stream(act)
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass  # The client went away: it cancelled, or it was killed.
        self.close_connection = True

    def wait(self):
        """Thinks until the gate lets it go on, or until nobody listens any more."""
        while not gate.acquire(timeout=0.05):
            self.send({"reasoning_content": "Hm. "})

    def stream(self, prompt):
        due = time.monotonic()
        for pause, delta in pieces(prompt):
            due += pause
            time.sleep(max(0, due - time.monotonic()))
            self.send(delta)
        self.send({}, "stop")

    def send(self, delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        data = json.dumps({"id": "m", "object": "chat.completion.chunk", "choices": [choice]})
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Clients that are cancelled or killed go away in the middle; that is no news."""


def start():
    """Serves on a free port until the process ends; returns the address for `DSH_LS_LOCAL_URL`."""
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"
