#!/usr/bin/env bash
# Measures on this machine alone, for bench.sh: builds everything for release, then prints one table.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

# The benchmarks run these as programs.
cargo build --locked --release --bin farhold --bin farhold-relay
records=$(mktemp)
trap 'rm -f "$records"' EXIT
cargo bench --locked -p farhold-secure --bench record | tee "$records"
cargo run --locked --release -p farhold-tests --bin bench-local -- "$records"
