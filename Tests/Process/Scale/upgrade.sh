#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Nodes of an earlier program are replaced by nodes of this one, and back, under load: upgrade.sh [COMMIT]
#
# COMMIT is the earlier program; the newest one that worked with an older schema if missing. PROOF_OLD names a folder
# with its programs in place of building them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
readonly file=Sources/PostgresStore/Schema/Migration.swift products=(proof-service proofctl proof-load)

needed() { sed -n 's/.*static let needed = //p'; }

if [[ -z ${PROOF_OLD:-} ]]; then
  commit=${1:-}
  if [[ -z $commit ]]; then
    while read -r one; do
      if (($(git show "$one:$file" 2>/dev/null | needed) < $(needed <"$file"))); then
        commit=$one
        break
      fi
    done < <(git log --format=%H -- "$file")
  fi
  if [[ -z $commit ]]; then
    echo 'upgrade: skipped: this clone has no commit of an earlier program'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
  fi
  echo "the earlier program: $(git log -1 --format='%h %s' "$commit")"
  rm -rf .build/old
  git worktree prune
  git worktree add --quiet --detach .build/old "$commit"
  trap 'git worktree remove --force .build/old' EXIT
  for product in "${products[@]}"; do
    swift build --quiet --package-path .build/old --scratch-path .build/old-build --product "$product"
  done
  PROOF_OLD=$PWD/.build/old-build/debug
fi
for product in "${products[@]}"; do swift build --quiet --product "$product"; done
PROOF_BUILT=$PROOF_OLD PROOF_NEW=$PWD/.build/debug \
  .build/pypi/bin/python -B Tests/Process/Scale/upgrade_test.py
