#!/usr/bin/env bash
# Every test of the window: the page in Chromium with its mock backend, then the real window on a display of its own.
# `test-window.sh FILE...` runs those files alone.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test
scripts/build-window.sh
files=("$@")
[ "$#" -gt 0 ] || files=(tests/window/page/*.test.mjs tests/window/real/*.test.mjs)
# One at a time: they wait for states, and states come late when two windows share two cores.
exec node --test --test-concurrency=1 --test-reporter=spec "${files[@]}"
