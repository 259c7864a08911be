#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests the second implementation, compares the committed vectors with what it makes, and verifies what others made.
#
#   Tests/Vectors/run.sh [FILE...]
#
# Each FILE holds blocks that another implementation printed (README.md, "Producers"). The last line counts.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# Debian's, which has python3-nacl.
python=${PYTHON:-/usr/bin/python3}
export PYTHONDONTWRITEBYTECODE=1

# shellcheck source=.ci/parts.sh
. "$root/.ci/parts.sh"
part 'unit tests' "$python" "$here/../Support/Runner/runner.py" "$here"
part generated "$python" "$here/generate.py" --check
for file in "$@"; do part "$(basename "$file")" "$python" "$here/check.py" "$file"; done
closing
