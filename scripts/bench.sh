#!/usr/bin/env bash
# Runs every benchmark and prints what it measured.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

scripts/setup.sh
cargo bench --locked --workspace --benches "$@"
