#!/usr/bin/env bash
# Runs every benchmark and prints what it measured: the record layer beside the bare AEAD, then the block cache.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

scripts/setup.sh
cargo bench --locked -p farhold-secure --bench record "$@"
cargo bench --locked -p farhold-cache --bench cache "$@"
