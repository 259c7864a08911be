#!/usr/bin/env bash
# Tests of the house itself: set-up, targets, checks, installation. Arguments select tests by name.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
exec python3 "$here/../Runner/runner.py" "$here" "$@"
