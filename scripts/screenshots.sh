#!/usr/bin/env bash
# Pictures of the window, to be looked at: `screenshots.sh FOLDER`.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test
scripts/build-window.sh
exec node tests/window/screenshots.mjs "$@"
