"""What only a terminal shows: keys as they are typed and the screen as a person sees it.

Usage: shots.py NVIM DSH_LS; keeps the screens in tests/editors/shots/nvim-*.txt
"""

import contextlib
import pathlib
import shutil
import sys

import folder
import mock_model
from terminal import Terminal

SHOTS = folder.HERE.parent / "shots"


class Camera:
    """Starts editors in a place of its own and keeps what they show, if there is somewhere to."""

    def __init__(self, nvim, program, model_url, shots):
        self.nvim, self.program, self.model_url, self.shots = nvim, program, model_url, shots

    @contextlib.contextmanager
    def editor(self, model=None):
        with folder.temporary() as place:
            env = folder.environment(place, self.program, model, self.model_url)
            env |= {"TERM": "screen-256color", "LANG": "C.UTF-8"}
            start = str(folder.HERE / "host" / "start.lua")
            command = [self.nvim, "--clean", "-u", start, "src/lib.rs"]
            with Terminal(place, command, env, place / "project") as terminal:
                self.hidden = {str(self.program): "/usr/bin/dsh-ls", str(place): "/home/me"}
                terminal.wait_for("pub struct Registration")
                yield terminal

    def keep(self, name, screen):
        if self.shots:
            for path, shown in self.hidden.items():
                screen = screen.replace(path, shown)
            lines = [line.rstrip() for line in screen.splitlines()]
            text = "\n".join(lines).rstrip() + "\n"
            (self.shots / f"nvim-{name}.txt").write_text(text)


def ask_without_a_key(camera):
    with camera.editor() as terminal:
        terminal.command("Dsh chat")
        terminal.wait_for("-- INSERT --", "ready")
        terminal.write("where is Registration defined?")
        terminal.press("Enter")
        terminal.wait_for("found by search", "ready", "offline")
        camera.keep("answer", terminal.screen())
        terminal.press("Escape", "C-w", "k", "g", "g", "2", "j", "Enter")
        terminal.wait_for("Line 8: pub struct")
        camera.keep("opened-tool", terminal.screen())
        terminal.press("3", "j", "Enter")
        terminal.wait_for("8,1 ")
        camera.keep("citation", terminal.screen())
        terminal.command("checkhealth dsh")
        terminal.wait_for("settings are valid", "wire 1.0", without=["Running healthchecks"])
        camera.keep("health", terminal.screen())


def stream_and_cancel(camera):
    with camera.editor("local/mock") as terminal:
        terminal.command("4,6Dsh ask drip 100000 200")
        terminal.wait_for("works", "word90")
        camera.keep("stream", terminal.screen())
        terminal.command("Dsh cancel")
        terminal.wait_for("cancelled", "ready")
        camera.keep("cancelled", terminal.screen())


def survive_hostile_text(camera):
    with camera.editor("local/mock") as terminal:
        terminal.command("Dsh ask hostile")
        terminal.wait_for("宽宽宽", "ready")
        terminal.press("C-w", "l", "g", "g")
        terminal.wait_for("bad name", "outside")
        camera.keep("hostile", terminal.screen())
        terminal.write(":Dsh ")
        terminal.press("Tab")
        terminal.wait_for(" ask ", " cancel ", " chat ", " deliberate ", " model ", " new ")


def deliberate(camera):
    with camera.editor("local/mock") as terminal:
        terminal.command("Dsh ask deliberate hold: is Registration a struct?")
        terminal.wait_for("other ·", "grep", "left", "✓ audit", "✓ again")
        camera.keep("round", terminal.screen())
        terminal.press("C-w", "l")
        terminal.command("call search('    other')")
        terminal.press("Enter")
        terminal.wait_for("agent · other · works", "word40")
        camera.keep("branch", terminal.screen())
        terminal.press("q")
        terminal.wait_for("other ·", "grep")
        terminal.command("Dsh cancel")
        terminal.wait_for("✗ other", "1 place that does not hold", "1 update · 1 failed", "ready")
        camera.keep("round-settled", terminal.screen())


def deliberate_without_a_key(camera):
    with camera.editor() as terminal:
        terminal.command("Dsh ask where is Registration defined?")
        terminal.wait_for("found by search", "ready")
        terminal.command("Dsh deliberate is it used anywhere?")
        terminal.wait_for("your deliberation", "review ·", without=["…", "· runs"])
        camera.keep("round-offline", terminal.screen())


def delegate(camera):
    with camera.editor("local/mock") as terminal:
        terminal.command("Dsh ask delegate how many fields has it?")
        terminal.wait_for("subagent look at the struct · answered", "ready")
        terminal.press("C-w", "l")
        terminal.command("call search('subagent')")
        terminal.press("z", "o")
        terminal.wait_for("asked: how many fields has it?")
        camera.keep("subagent", terminal.screen())


def doubt(camera):
    with camera.editor("local/mock") as terminal:
        terminal.command("Dsh ask cite")
        terminal.wait_for("on line 8", "ready")
        terminal.press("C-w", "l", "g", "g", "]", "d", "]", "d")
        camera.keep("evidence", terminal.screen())


def review(camera):
    with camera.editor("local/mock") as terminal:
        terminal.command("Dsh ask check hold")
        terminal.wait_for("defines a Registration", "ready")
        terminal.command("Dsh review")
        terminal.wait_for("draft: a review reads it", "reads the answer again · 0:01")
        camera.keep("review-running", terminal.screen())
        terminal.command("Dsh ask release")
        terminal.wait_for("2 items", "You said: release", "■ Registration is a struct")
        terminal.press("C-w", "l")
        terminal.command("call search('unknown, uncertain')")
        terminal.press("-")
        terminal.wait_for("· dismissed", without=["draft", "■ Nobody"])
        camera.keep("review", terminal.screen())
        terminal.command("Dsh findings")
        terminal.wait_for("src/lib.rs|8 col 1 warning| Registration is a struct")
        camera.keep("findings", terminal.screen())
        terminal.press("j", "Enter")
        terminal.wait_for("8,1 ")


SCENES = (
    ask_without_a_key,
    stream_and_cancel,
    survive_hostile_text,
    deliberate,
    deliberate_without_a_key,
    delegate,
    doubt,
    review,
)


def check(nvim, program, model_url, shots=None):
    """Runs the scenes; returns the counts of passed and failed ones."""
    if not shutil.which("tmux"):
        print("nvim in a terminal: SKIPPED, install tmux")
        return 0, 0
    camera = Camera(nvim, program, model_url, shots)
    passed = failed = 0
    for scene in SCENES:
        try:
            scene(camera)
            passed += 1
        except AssertionError as failure:
            failed += 1
            print(f"FAILED {scene.__name__}\n{failure}")
    return passed, failed


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    SHOTS.mkdir(exist_ok=True)
    program = pathlib.Path(sys.argv[2]).resolve()
    counts = check(sys.argv[1], program, mock_model.start(), SHOTS)
    print(f"{counts[0]} passed, {counts[1]} failed")
    sys.exit(1 if counts[1] else 0)


if __name__ == "__main__":
    main()
