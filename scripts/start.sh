#!/usr/bin/env bash
# Sets up, builds, and runs the demo: a relay and a second peer on this machine, paired and mounted.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

scripts/setup.sh
cargo build --locked --bin farhold
exec "${CARGO_TARGET_DIR:-target}/debug/farhold" demo "$@"
