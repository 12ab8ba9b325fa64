#!/usr/bin/env bash
# Measures Farhold and prints what it measured. `bench.sh wan [ROWS...] [--runs N]` measures on emulated long links
# (Linux, root); `bench.sh local` on this machine alone; without a word both. docs/benchmarks.md tells more.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

scripts/setup.sh test

what=${1:-all}
[ $# = 0 ] || shift
case "$what" in
wan | local) ;;
all) [ $# = 0 ] ;;
*)
    echo "usage: npm run bench -- [wan [ROWS...] [OPTIONS] | local]" >&2
    exit 2
    ;;
esac

if [ "$what" != wan ]; then
    scripts/bench-local.sh "$@"
fi
if [ "$what" != local ]; then
    cargo build --locked --release --bin farhold --bin farhold-relay --bin farhold-wan
    "${CARGO_TARGET_DIR:-target}/release/farhold-wan" bench "$@"
fi
