#!/usr/bin/env bash
# Everything that must hold: set-up, format, lints, then every test. Ends with the runner's summaries and their sum.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

scripts/setup.sh test
scripts/lint.sh

# The whole-system tests start these as programs.
cargo build --locked --bin farhold --bin farhold-relay

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
cargo test --locked --workspace --no-fail-fast 2>&1 | tee "$log" || status=$?

awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 }
     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$log"
exit "$status"
