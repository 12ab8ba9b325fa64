#!/usr/bin/env bash
# Everything that must hold: set-up, format, lints, then every test. Ends with the runner's summaries and their sum.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

scripts/setup.sh test
scripts/lint.sh

# The whole-system tests start these as programs.
cargo build --locked --bin farhold --bin farhold-relay

# Tests keep everything below one folder, so that what they leave behind is seen.
TMPDIR=$(mktemp -d)
export TMPDIR
# Some tests act as another user.
chmod 1777 "$TMPDIR"
log=$(mktemp)
end() {
    while read -r mount; do
        umount -l "$mount" || true
    done < <(awk -v folder="$TMPDIR/" 'index($2, folder) == 1 { print $2 }' /proc/self/mounts)
    rm -rf "$TMPDIR"
}
trap end EXIT

status=0
cargo test --locked --workspace --no-fail-fast 2>&1 | tee "$log" || status=$?

mounts=$(grep -c " $TMPDIR/" /proc/self/mounts || true)
files=$(find "$TMPDIR" -mindepth 1 -maxdepth 1 ! -path "$log" | wc -l)
if [ "$mounts" != 0 ] || [ "$files" != 0 ]; then
    echo "test: left behind: $mounts mounts, $files files or folders:" >&2
    find "$TMPDIR" -mindepth 1 -maxdepth 3 ! -path "$log" | head -20 >&2
    status=1
fi
awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 }
     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$log"
exit "$status"
