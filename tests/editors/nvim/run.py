"""Tests the Neovim plugin in real Neovims against a real server.

Usage: run.py DSH_LS [SPEC …]
"""

import pathlib
import subprocess
import sys
import time

import folder
import install
import mock_model
import shots

# Each file of tests and the model that it needs.
SPECS = {
    "offline": None,
    "broken": None,
    "stream": "local/mock",
    "hostile": "local/mock",
    "evidence": "local/mock",
    "rounds": "local/mock",
    "reviews": "local/mock",
    "agents": "local/mock",
    "commands": "local/mock",
}

# A whole file of tests takes a few seconds; this is for one that hangs.
PATIENCE = 120


def run_spec(nvim, name, program, model_url):
    """Runs one file of tests; returns the counts of passed and failed ones."""
    with folder.temporary() as place:
        env = folder.environment(place, program, SPECS[name], model_url)
        env["DSH_TEST"] = str(folder.HERE / "host" / f"{name}.lua")
        command = [nvim, "--clean", "--headless", "-S", str(folder.HERE / "host" / "runner.lua")]
        try:
            done = subprocess.run(
                command, cwd=place / "project", env=env, capture_output=True, text=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired as hung:
            print(f"FAILED {name}: hung after {PATIENCE} s\n{hung.stdout}")
            return 0, 1
        lines = done.stdout.splitlines()
        passed = sum(line.startswith("ok ") for line in lines)
        failed = sum(line.startswith("FAILED ") for line in lines)
        if "done" not in lines:
            failed += 1
        if failed:
            print(done.stdout, done.stderr)
        return passed, failed


def run_model(nvim):
    """Runs the tests of the model, which need no server."""
    script = folder.HERE / "model" / "fixtures.lua"
    fixtures = folder.REPOSITORY / "protocol" / "fixtures"
    command = [nvim, "-l", str(script), str(folder.PLUGIN), str(fixtures)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    words = done.stdout.split()[-4:]
    if done.returncode != 0:
        print(done.stdout, done.stderr)
        return 0, 1
    return int(words[0]), int(words[2])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    wanted = sys.argv[2:] or ["model", *SPECS, "terminal"]
    model_url = mock_model.start()
    total = [0, 0]
    for version, nvim in install.neovims(install.cache()):
        for name in wanted:
            # The Debian one runs under a loader and cannot start the second half of its terminal.
            if name == "terminal" and version != install.PINNED:
                continue
            began = time.monotonic()
            if name == "model":
                counts = run_model(nvim)
            elif name == "terminal":
                counts = shots.check(nvim, program, model_url)
            else:
                counts = run_spec(nvim, name, program, model_url)
            took = time.monotonic() - began
            print(f"nvim {version} {name}: {counts[0]} passed, {counts[1]} failed ({took:.1f} s)")
            total = [total[0] + counts[0], total[1] + counts[1]]
    print(f"{total[0]} passed, {total[1]} failed")
    sys.exit(1 if total[1] or not total[0] else 0)


if __name__ == "__main__":
    main()
