#!/usr/bin/env bash
# Installs what building, running and testing Farhold needs and this machine lacks. Idempotent, never asks, quick when
# nothing is missing. `setup.sh` prepares for `npm start`; `setup.sh test` also for `npm test`.
set -euo pipefail

# Command that must be there -> Debian package that brings it.
needs="cc:gcc fusermount3:fuse3"
if [ "${1:-}" = test ]; then
    needs="$needs setpriv:util-linux python3:python3 curl:curl ip:iproute2 nft:nftables"
fi

missing=""
for need in $needs; do
    command -v "${need%%:*}" >/dev/null || missing="$missing ${need##*:}"
done
[ -e /usr/include/stdlib.h ] || [ "$(uname)" != Linux ] || missing="$missing libc6-dev"

if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null; then
        echo "farhold set-up: install these with your system's package manager, then run this again:$missing" >&2
        exit 1
    fi
    as_root=""
    if [ "$(id -u)" != 0 ]; then
        # -n: fail rather than ask for a password.
        as_root="sudo -n"
        $as_root true 2>/dev/null || {
            echo "farhold set-up: run this once, then try again: sudo apt-get install -y$missing" >&2
            exit 1
        }
    fi
    echo "farhold set-up: installing$missing" >&2
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -qq >/dev/null
    # shellcheck disable=SC2086  # a list of package names
    $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

if ! command -v cargo >/dev/null; then
    echo "farhold set-up: install Rust with rustup (https://rustup.rs), then run this again" >&2
    exit 1
fi
