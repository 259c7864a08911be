#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Plays docs/QUICKSTART.md and docs/tutorials as they stand, as a new user would.
#
#   run.sh [--clone] [TEXT…]     --clone: in a fresh clone of the last commit; TEXT: tests by name
#
# The last line counts.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
if [[ ${1:-} == --clone ]]; then
  shift
  clone=$(mktemp -d)
  trap 'rm -rf "$clone"' EXIT
  git clone --quiet "$root" "$clone/ProofKit"
  "$clone/ProofKit/Tests/Process/Tutorials/run.sh" "$@"
  exit
fi
exec "${PYTHON:-/usr/bin/python3}" "$root/Tests/Support/Runner/runner.py" "$root/Tests/Process/Tutorials" "$@"
