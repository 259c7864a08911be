#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Opens the reference site in a browser, as `make docs` serves it: start page, libraries, tutorials.
#
#   Tests/Process/Site/run.sh [TEXT…]     tests whose name contains one
#
# The last line counts. The site is what docs/site/build wrote last.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
exec "${PYTHON:-/usr/bin/python3}" "$root/Tests/Support/Runner/runner.py" "$root/Tests/Process/Site" "$@"
