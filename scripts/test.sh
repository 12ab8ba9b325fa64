#!/usr/bin/env bash
# Everything that must hold: set-up, format, lints, then every test. Ends with the runner's summaries and their sum.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

scripts/setup.sh test
scripts/lint.sh

# Also what only other systems need: the test of licences looks at everything.
cargo fetch --locked --quiet
# The whole-system tests start these as programs.
cargo build --locked --bin farhold --bin farhold-relay

# Tests keep their files below one folder, which goes at the end whatever happened.
TMPDIR=$(mktemp -d)
export TMPDIR
# Some tests act as another user.
chmod 1777 "$TMPDIR"
log=$(mktemp)
trap 'rm -rf --one-file-system "$TMPDIR"' EXIT

status=0
cargo test --locked --workspace --exclude farhold-wan --no-fail-fast 2>&1 | tee "$log" || status=$?
# Its tests make network namespaces.
if [ "$(id -u)" = 0 ]; then
    lab="--include-ignored"
else
    lab=""
    echo "test: not root, so the tests on emulated long links are skipped" >&2
fi
# shellcheck disable=SC2086  # nothing, or one word
cargo test --locked -p farhold-wan --no-fail-fast -- $lab 2>&1 | tee -a "$log" || status=$?

npm run --silent ui:test 2>&1 | tee -a "$log" || status=$?
scripts/test-window.sh 2>&1 | tee -a "$log" || status=$?

# What outlives its test is a failure, and ended here.
while read -r mount; do
    echo "test: left mounted: $mount" >&2
    umount -l "$mount" || true
    status=1
done < <(awk -v folder="$TMPDIR/" 'index($2, folder) == 1 { print $2 }' /proc/self/mounts)
for process in /proc/[0-9]*; do
    program=$(readlink "$process/exe" 2>/dev/null) || continue
    case "$program" in
    "${CARGO_TARGET_DIR:-$PWD/target}"/*)
        echo "test: left running: $program (${process#/proc/})" >&2
        kill -9 "${process#/proc/}" || true
        status=1
        ;;
    esac
done

# Cargo's summaries, vitest's, and those of node's runner.
awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 }
     /^ *Tests  / { for (i = 2; i < NF; i++) { if ($(i + 1) ~ /^passed/) passed += $i
                                               if ($(i + 1) ~ /^failed/) failed += $i
                                               if ($(i + 1) ~ /^(skipped|todo)/) skipped += $i } }
     /^ℹ pass / { passed += $3 }
     /^ℹ (fail|cancelled) / { failed += $3 }
     /^ℹ (skipped|todo) / { skipped += $3 }
     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$log"
exit "$status"
