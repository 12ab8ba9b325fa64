#!/usr/bin/env bash
# Installs what building, running and testing Farhold needs and this machine lacks. Idempotent, never asks, quick when
# nothing is missing. `setup.sh` prepares for the command line, `setup.sh window` also for the window, and
# `setup.sh test` for `npm test`.
set -euo pipefail

# Command that must be there -> Debian package that brings it.
needs="cc:gcc fusermount3:fuse3"
if [ "${1:-}" = test ]; then
    needs="$needs setpriv:util-linux python3:python3 curl:curl ip:iproute2 nft:nftables"
    # A display of the tests' own, what drives the window on it, and what shows the page without the window.
    needs="$needs Xvfb:xvfb dbus-daemon:dbus-daemon openbox:openbox xdotool:xdotool xprop:x11-utils"
    needs="$needs WebKitWebDriver:webkit2gtk-driver chromium:chromium"
fi

missing=""
for need in $needs; do
    command -v "${need%%:*}" >/dev/null || missing="$missing ${need##*:}"
done
[ -e /usr/include/stdlib.h ] || [ "$(uname)" != Linux ] || missing="$missing libc6-dev"
if [ -n "${1:-}" ] && [ "$(uname)" = Linux ]; then
    compgen -G "/usr/lib/*/pkgconfig/webkit2gtk-4.1.pc" >/dev/null || pkg-config --exists webkit2gtk-4.1 2>/dev/null ||
        missing="$missing libwebkit2gtk-4.1-dev"
fi
if [ "${1:-}" = test ] && [ "$(uname)" = Linux ]; then
    # What has no command of its own: a file that must be there -> its package.
    for need in /usr/lib/python3/dist-packages/gi:python3-gi \
        "/usr/lib/*/girepository-1.0/Gtk-3.0.typelib:gir1.2-gtk-3.0" \
        /usr/share/fonts/truetype/dejavu:fonts-dejavu-core; do
        compgen -G "${need%%:*}" >/dev/null || missing="$missing ${need##*:}"
    done
fi

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
