"""Measures how long the plugin keeps Neovim from its main loop while an answer streams.

Usage: soak.py DSH_LS [PIECES [RATE]]; default: 10000 pieces, 500 in a second.
Fails when the 99th percentile of the lateness of a 10 ms timer is over 50 ms.
"""

import json
import pathlib
import sys
import time

import folder
import install
import mock_model
from terminal import Terminal

LIMIT_MS = 50


def percentile(sorted_values, part):
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * part))]


def soak(nvim, program, pieces, rate):
    """Streams pieces into an editor; returns what the editor recorded."""
    with folder.temporary() as place:
        record = place / "record.json"
        env = folder.environment(place, program, "local/mock", mock_model.start())
        env |= {"TERM": "screen-256color", "LANG": "C.UTF-8", "DSH_RECORD": str(record)}
        start = str(folder.HERE / "host" / "start.lua")
        script = str(folder.HERE / "host" / "soak.lua")
        command = [nvim, "--clean", "-u", start, "-S", script, "src/lib.rs"]
        with Terminal(place, command, env, place / "project") as terminal:
            terminal.wait_for("pub struct Registration")
            terminal.command(f"Dsh ask drip {pieces} {rate}")
            end = time.monotonic() + pieces / rate * 3 + 30
            while not record.exists():
                if time.monotonic() > end:
                    sys.exit(f"the answer did not end:\n{terminal.screen()}")
                time.sleep(0.1)
            return json.loads(record.read_text())


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    nvim, program = install.pinned(install.cache()), pathlib.Path(sys.argv[1]).resolve()
    pieces, rate = (int(word) for word in (sys.argv[2:] + ["10000", "500"][len(sys.argv) - 2 :]))
    record = soak(nvim, program, pieces, rate)
    late = sorted(record["late"])
    p50, p99 = percentile(late, 0.5), percentile(late, 0.99)
    print(
        f"{pieces} pieces at {rate}/s in {record['seconds']:.1f} s, {record['lines']} lines; "
        f"a 10 ms timer was late by p50 {p50:.1f} ms, p99 {p99:.1f} ms, at most {late[-1]:.1f} ms; "
        f"the second half p99 {percentile(sorted(record['late'][len(late) // 2 :]), 0.99):.1f} ms"
    )
    if record["words"] != pieces:
        sys.exit(f"{record['words']} of {pieces} pieces are shown")
    if p99 > LIMIT_MS:
        sys.exit(f"p99 is over {LIMIT_MS} ms")


if __name__ == "__main__":
    main()
