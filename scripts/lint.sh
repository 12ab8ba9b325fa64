#!/usr/bin/env bash
# Format, lints and types; warnings are errors. Licences and sources of dependencies too, where cargo-deny is installed
# (the test `dependencies` holds the licences everywhere).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cargo.sh

cargo fmt --all --check
cargo clippy --locked --workspace --all-targets -- -D warnings
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent
npm run --silent ui:check
npx tsc --project tests/window
if command -v cargo-deny >/dev/null; then
    cargo deny --offline check licenses bans sources
else
    echo "lint: cargo-deny is not installed, so deny.toml is checked only by the licence test" >&2
fi
