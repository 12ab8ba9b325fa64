#!/usr/bin/env bash
# Builds what the window's tests and screenshots run: the page, the page with its mock backend, and the programs.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent
npx vite build --logLevel warn
npx vite build --mode mock --logLevel warn
# The page becomes part of the window's program, so it is built first.
cargo build --locked --quiet --bin farhold --bin farhold-relay
cargo build --locked --quiet --package farhold-app --features custom-protocol
