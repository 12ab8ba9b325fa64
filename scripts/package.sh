#!/usr/bin/env bash
# Builds the Debian package with the window, the command line and the headless engine's unit:
# target/package/farhold_VERSION_ARCHITECTURE.deb. `package.sh --debug` packs the programs that tests use.
set -euo pipefail
# What is packed belongs to everybody.
umask 022
cd "$(dirname "$0")/.."
. scripts/cargo.sh

profile=release
[ "${1:-}" != --debug ] || profile=debug
build=(cargo build --locked)
[ "$profile" = debug ] || build+=(--release)

scripts/setup.sh window
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent
npm run --silent ui:build
"${build[@]}" --bin farhold
"${build[@]}" --package farhold-app --features custom-protocol

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
architecture=$(dpkg --print-architecture)
target=${CARGO_TARGET_DIR:-target}
root=$target/package/farhold_${version}_$architecture
rm -rf "$root" "$root.deb"

place() { # MODE FILE PLACE
    install -D --mode "$1" "$2" "$root/$3"
}
for program in farhold farhold-app; do
    place 755 "$target/$profile/$program" "usr/bin/$program"
    strip --strip-unneeded "$root/usr/bin/$program"
done
place 644 packaging/org.farhold.Farhold.desktop usr/share/applications/org.farhold.Farhold.desktop
place 644 packaging/farhold.service usr/lib/systemd/user/farhold.service
for size in 32x32 128x128 256x256; do
    place 644 "icons/$size.png" "usr/share/icons/hicolor/$size/apps/farhold-app.png"
done
place 644 icons/farhold.svg usr/share/icons/hicolor/scalable/apps/farhold-app.svg
place 644 LICENSE usr/share/doc/farhold/copyright
for shell in bash:share/bash-completion/completions/farhold fish:share/fish/vendor_completions.d/farhold.fish \
    zsh:share/zsh/vendor-completions/_farhold; do
    "$target/$profile/farhold" completions "${shell%%:*}" >"$target/package/completion"
    place 644 "$target/package/completion" "usr/${shell#*:}"
done

libc=$(objdump --dynamic-syms "$root"/usr/bin/* | grep --only-matching 'GLIBC_[0-9][0-9.]*' | sort --version-sort | tail -n 1)

# Of what is loaded; the rest comes with these. FUSE mounts the drive.
mkdir -p "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: farhold
Version: $version
Architecture: $architecture
Maintainer: The Farhold developers <farhold@invalid>
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: libc6 (>= ${libc#GLIBC_}), libwebkit2gtk-4.1-0, libgtk-3-0 | libgtk-3-0t64, fuse3
Recommends: xdg-utils
Section: net
Priority: optional
Description: shared drive between two people
 Each sees what the other shared as a folder of a mounted drive. Bytes stay at
 home until somebody reads them, and then travel end-to-end encrypted over the
 fastest path there is. With a window, a tray icon and a command line.
CONTROL
dpkg-deb --root-owner-group --build "$root" "$root.deb"
