"""A model server for tests: speaks the chat-completions stream and does what the last prompt says.

`drip N RATE` writes N pieces, RATE in a second. `think` thinks before it answers. `busy` is
answered when it is asked again. `cut` is never answered to the end. `hostile` calls a tool of an
impossible name, then answers with what could break an editor. `long` writes one very long line.
Anything else is repeated.
"""

import http.server
import json
import threading
import time

HOSTILE = (
    "\x1b[31mred\x1b[0m nul:\x00 bell:\x07 carriage:\r return\n"
    "vim: set modifiable shell=/bin/false :\n"
    "outside `/etc/passwd:1`, `../outside.txt:1`, `link.txt:1`, `src/none.rs:3`\n"
    "inside `src/lib.rs:8`\n"
    "```\nopen fence, then wide " + "宽" * 3000 + "\n"
)


# The prompts that were refused once.
refused = set()


def last_prompt(body):
    """What the person asked last."""
    texts = [m["content"] for m in body["messages"] if m["role"] == "user"]
    last = texts[-1]
    return last if isinstance(last, str) else "\n".join(p.get("text", "") for p in last)


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
    elif words[:1] == ["think"]:
        yield 0, {"reasoning_content": "First this,\n"}
        yield 0, {"reasoning_content": "then that."}
        yield 0.2, {"content": "So be it."}
    else:
        yield 0, {"content": f"You said: {prompt}"}


def hostile_call():
    name = "bad\nname\x00\x1b[2J`"
    function = {"name": name, "arguments": '{"pattern":"a\\nb\\u0000"}'}
    return {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(b'{"object":"list","data":[]}', "application/json")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = last_prompt(body)
        if prompt.startswith("busy") and prompt not in refused:
            refused.add(prompt)
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        asked = any(m["role"] == "tool" for m in body["messages"])
        try:
            if prompt.startswith("hostile") and not asked:
                self.send(hostile_call())
                self.send({}, "tool_calls")
            elif prompt == "cut":
                self.send({"content": "This is all there"})
                self.close_connection = True
                return
            else:
                self.stream(prompt)
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass  # The client went away: it cancelled, or it was killed.
        self.close_connection = True

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
