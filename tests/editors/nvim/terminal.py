"""A Neovim in a terminal of 120 by 40, driven by keys and read as the text that a person sees."""

import pathlib
import shlex
import subprocess
import time

PATIENCE = 15


class Terminal:
    """One tmux server of its own with one window; gone at the end of `with`."""

    def __init__(self, place, command, env, cwd):
        self.socket = str(pathlib.Path(place) / "tmux")
        words = ["env", "-i", *(f"{name}={value}" for name, value in env.items()), *command]
        size = ["-x", "120", "-y", "40"]
        start = ["new-session", "-d", *size, "-c", str(cwd), shlex.join(words)]
        self.tmux("-f", "/dev/null", *start)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server", check=False)

    def tmux(self, *arguments, check=True):
        command = ["tmux", "-u", "-S", self.socket, *arguments]
        return subprocess.run(command, check=check, capture_output=True, text=True).stdout

    def press(self, *keys):
        """Presses keys by their tmux names."""
        self.tmux("send-keys", *keys)

    def write(self, text):
        """Types text as it is."""
        self.tmux("send-keys", "-l", text)

    def command(self, text):
        """Runs an editor's command."""
        self.write(":" + text)
        self.press("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait_for(self, *texts, without=()):
        """Waits until the screen shows all of the texts and none of the others, and returns it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            screen = self.screen()
            is_there = all(text in screen for text in texts)
            if is_there and not any(text in screen for text in without):
                return screen
            time.sleep(0.02)
        raise AssertionError(f"waited in vain for {texts} without {without}:\n{self.screen()}")
