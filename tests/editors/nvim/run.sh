#!/bin/sh
# usage: run.sh DSH_LS [SPEC ...]
# Tests the Neovim plugin; see run.py.
exec python3 "$(dirname "$0")/run.py" "$@"
