#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the house itself: set-up, targets, checks, installation. Arguments select tests by name.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
exec python3 "$here/../../Support/Runner/runner.py" "$here" "$@"
