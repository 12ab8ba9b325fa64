#!/usr/bin/env bash
# Sets up, builds, and runs the demo: a relay and a second peer on this machine, paired and mounted. With a display in
# the window, else in the terminal, and with options (see: farhold demo --help) always there.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

target=${CARGO_TARGET_DIR:-target}
if [ $# = 0 ] && [ "$(uname)" = Linux ] && [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    scripts/setup.sh window
    [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent
    npm run --silent ui:build
    cargo build --locked --package farhold-cli
    cargo build --locked --package farhold-app --features custom-protocol
    exec "$target/debug/farhold" demo --window
fi
scripts/setup.sh
cargo build --locked --bin farhold
exec "$target/debug/farhold" demo "$@"
