#!/usr/bin/env bash
# Tests of the house itself: set-up, targets, checks, installation. Arguments select tests by name.
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/house.py" "$@"
