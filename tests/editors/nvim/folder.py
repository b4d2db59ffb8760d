"""The small project that the tests work in, and what an editor there is told."""

import contextlib
import os
import pathlib
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
PLUGIN = REPOSITORY / "editors" / "nvim"

LIB = """//! A tiny crate.

/// Retries a request.
pub fn retry_request(times: u32) -> u32 {
    times + 1
}

pub struct Registration {
    pub name: String,
}
"""


@contextlib.contextmanager
def temporary():
    """A place with a small project, and a file beside it that no editor may open."""
    with tempfile.TemporaryDirectory(prefix="dsh-nvim-", ignore_cleanup_errors=True) as folder:
        place = pathlib.Path(folder).resolve()
        root = place / "project"
        (root / "src").mkdir(parents=True)
        (root / ".git").mkdir()
        (root / "src" / "lib.rs").write_text(LIB)
        (place / "outside.txt").write_text("nothing to see\n")
        (root / "link.txt").symlink_to(place / "outside.txt")
        yield place


def environment(place, program, model, model_url):
    """What a Neovim of a test is told, and nothing of the person's own."""
    home = place / "home"
    home.mkdir(exist_ok=True)
    env = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
    env |= {
        "HOME": str(home),
        "DSH_LS_HOME": str(home / "dsh"),
        "DSH_LS": str(program),
        "DSH_LS_LOCAL_URL": model_url,
        "DSH_PLUGIN": str(PLUGIN),
        "DSH_ROOT": str(place / "project"),
    }
    return env | ({"DSH_MODEL": model} if model else {})
