# Sourced by the other scripts: finds cargo where rustup puts it, also in a shell that has not read its profile.
if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH="$HOME/.cargo/bin:$PATH"
    export PATH
fi
